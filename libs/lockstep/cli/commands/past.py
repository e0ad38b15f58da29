"""deploy --from and cancel: an app that begins with what was archived, and calling that off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import typer

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of, asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.output import SHOWN_VERSION, Exit, console, errors, fail, print_json, reported
from lockstep.cli.progress import past_said
from lockstep.cli.times import parsed_ms, shown_ms
from lockstep.clock import SystemClock
from lockstep.control import PAST_DONE, PAST_FAILED, PAST_NONE
from lockstep.events import LockstepError
from lockstep.events.paths import app_path

POLL_MS: Final = 250
SAY_EVERY_MS: Final = 2_000
UNHEARD_MS: Final = 60_000
"""For so long no coordinator may answer: the folding goes on without one."""


class PastOutput(StrEnum):
    """Where rows of the past go."""

    ARCHIVE = "archive"
    SINKS = "sinks"
    NOWHERE = "nowhere"


WHERE: Final[Mapping[str, str]] = {
    "archive": "go into tables beside the archive; sinks and pages get none of them",
    "sinks": "go to its sinks and pages, as if they were given now",
    "nowhere": "go nowhere",
}


@dataclass(frozen=True, slots=True)
class WantedPast:
    """From which time on, whose, and where the rows go."""

    since: str
    from_ms: int
    app: str | None
    output: PastOutput

    @property
    def body(self) -> dict[str, Any]:
        """As the coordinator is asked."""
        own = {} if self.app is None else {"app": self.app}
        return {"from_ms": self.from_ms, "output": self.output.value, **own}


def wanted_past(since: str, app: str | None, output: PastOutput) -> WantedPast:
    """Leaves the command where that is no time."""
    with reported():
        return WantedPast(since, parsed_ms(since), app, output)


def deploy_with_past(
    context: typer.Context,
    text: str,
    parallel: int | None,
    wanted: WantedPast,
    *,
    wait: bool,
    as_json: bool,
) -> Any:
    """Deploys it, says how far the past is, and ends when the app goes on with it. Ctrl-C calls it
    off. Exit code 1 when the past cannot be folded: then what was there before goes on. With
    `parallel` it begins in one unit, and is cut, with what fits of its state, when it has begun."""
    cut = parallel is not None and parallel > 1
    if cut and not wait:
        raise typer.BadParameter("with --from it needs --wait", param_hint="--parallel")

    async def action(client: Client) -> tuple[Any, Any]:
        if not as_json:
            whose = "its own archive" if wanted.app is None else f"the archive of {wanted.app}"
            console.print(
                f"from {wanted.since} on, {whose} is folded first; the rows of that "
                f"{WHERE[wanted.output]}", markup=False, soft_wrap=True,
            )  # fmt: skip
        answer = await client.deploy(text, parallel=None if cut else parallel, past=wanted.body)
        if not as_json:
            _say_deployed(answer)
        if not wait:
            return answer, None
        try:
            past = await followed(client, answer, as_json=as_json)
        except asyncio.CancelledError:
            errors.print(called_off(await client.call_off(answer["app"])), markup=False)
            raise
        if cut and past["phase"] == PAST_DONE:
            answer |= await client.deploy(text, parallel=parallel) | {"past": answer["past"]}
        return answer, past

    with reported():
        answer, past = with_client(addresses_of(context), action)
    if past is not None and past["phase"] == PAST_FAILED:
        fail(f"{answer['app']} does not begin with its past: {past['why']}", Exit.FAILED)
    if past is not None and not as_json:
        _say_done(answer, past)
        if cut:
            app = answer["app"]
            what = f"it is cut into {parallel} partitions; `lockstep status {app}` names what of "
            console.print(f"{what}that state begins empty", markup=False, soft_wrap=True)
    return answer | {"progress": past}


def cancel(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Call off a deployment, or a restore to a time, that still folds its past."""
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/past"
        answer = suite.request("DELETE", url)
    if as_json:
        print_json(answer)
    else:
        console.print(called_off(answer), markup=False)


def called_off(answer: Mapping[str, Any]) -> str:
    """For people."""
    app = answer["app"]
    if answer["goes_on"]:
        return f"called off: {app} goes on with the text and the state that it had"
    return f"called off: {app} is not deployed"


async def followed(client: Client, answer: Mapping[str, Any], *, as_json: bool) -> Any:
    """How far the past of the app that was answered is, once it is done or has failed; says it
    meanwhile. LockstepError where no coordinator answers for long."""
    clock = SystemClock()
    said_ms = heard_ms = clock.monotonic_ms()
    while True:
        await clock.sleep_ms(POLL_MS)
        now_ms = clock.monotonic_ms()
        try:
            found = await client.past(answer["app"])
        except LockstepError as error:
            if not error.retryable or now_ms - heard_ms > UNHEARD_MS:
                raise
            continue
        heard_ms = now_ms
        if found["phase"] in (PAST_DONE, PAST_FAILED):
            return found
        if found["phase"] == PAST_NONE:
            return found | {"phase": PAST_FAILED, "why": "something else was deployed meanwhile"}
        if not as_json and now_ms - said_ms >= SAY_EVERY_MS:
            said_ms = now_ms
            console.print(f"  {past_said(found)}", markup=False, soft_wrap=True)


def _say_deployed(answer: Mapping[str, Any]) -> None:
    past = answer["past"]
    version = answer["version"][:SHOWN_VERSION]
    console.print(
        f"deployed {answer['app']} version {version}; the past begins {shown_ms(past['begins_ms'])}"
        f" behind position {past['after']} of {past['app']}", markup=False, soft_wrap=True,
    )  # fmt: skip
    if past["ignored"]:
        console.print(
            f"streams that the text does not have: {', '.join(past['ignored'])}", markup=False
        )


def _say_done(answer: Mapping[str, Any], past: Mapping[str, Any]) -> None:
    console.print(
        f"{answer['app']} goes on with its past: {past['events']} events folded, "
        f"{past['rows']} rows, {past['refused']} events refused, {past['ignored']} of streams that "
        f"it does not have, {past['missing']} not in the archive any more",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    if past["results"] and past["rows"]:
        console.print(f"rows: {past['results']}", markup=False, soft_wrap=True)
