"""restore --to: an app goes back to a time, and what is said meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of
from lockstep.cli.commands.past import WHERE, PastOutput, called_off, followed
from lockstep.cli.output import Exit, console, errors, fail, print_json, reported
from lockstep.cli.times import parsed_ms, shown_ms
from lockstep.control import PAST_FAILED


@dataclass(frozen=True, slots=True)
class WantedBack:
    """To which time, and whether what came since then is folded again."""

    to: str
    replay: bool
    output: PastOutput

    def body(self) -> dict[str, Any]:
        """As the coordinator is asked. TimeError."""
        own = {"replay": True, "output": self.output.value} if self.replay else {}
        return {"to_ms": parsed_ms(self.to), **own}


def go_back(
    context: typer.Context, app: str, wanted: WantedBack, *, wait: bool, as_json: bool
) -> None:
    """Asks, says how far it is, and ends when the app goes on with that state. Ctrl-C calls it off.
    Exit code 1 when the state cannot be folded: then the app goes on as it is."""

    async def action(client: Client) -> tuple[Any, Any]:
        answer = await client.restore(app, wanted.body())
        if not as_json:
            console.print(found_said(answer, wanted), markup=False, soft_wrap=True)
        if not wait or not answer["folds"]:
            return answer, None
        try:
            return answer, await followed(client, answer, as_json=as_json)
        except asyncio.CancelledError:
            errors.print(called_off(await client.call_off(app)), markup=False)
            raise

    with reported():
        answer, past = with_client(addresses_of(context), action)
    if past is not None and past["phase"] == PAST_FAILED:
        fail(f"{app} does not go back, and goes on as it is: {past['why']}", Exit.FAILED)
    if as_json:
        print_json(answer | {"progress": past})
    else:
        console.print(ended_said(answer, past, wanted), markup=False, soft_wrap=True)


def found_said(answer: Mapping[str, Any], wanted: WantedBack) -> str:
    """Which state it is, and what becomes of it."""
    app, place = answer["app"], answer["position"]
    if answer["begins_ms"] is None:
        whence = f"revision {answer['revision']}"
    else:
        begins = shown_ms(answer["begins_ms"])
        whence = f"the archive, which begins {begins}, as no state of that time is kept"
    said = f"{wanted.to} is position {place} of {app}; its state is that of {whence}"
    if place > answer["after"]:
        said += f", and what came in behind position {answer['after']}"
    if not wanted.replay:
        return f"{said}. What came in later is left out; what was published stays"
    return f"{said}. What came in later is folded again; the rows of that {WHERE[wanted.output]}"


def ended_said(
    answer: Mapping[str, Any], past: Mapping[str, Any] | None, wanted: WantedBack
) -> str:
    """What came of it."""
    app = answer["app"]
    if past is None:
        when = "goes" if answer["done"] else "will go"
        return f"{app} {when} on with its state of {wanted.to}"
    said = f"{app} goes on with its state of {wanted.to}: {past['events']} events folded"
    if past["missing"]:
        said += f", {past['missing']} not in the archive any more"
    if past["rows"] and wanted.replay:
        said += f", {past['rows']} rows"
        if past["results"]:
            said += f" in {past['results']}"
    return said
