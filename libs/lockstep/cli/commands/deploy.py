"""deploy: texts of apps to the coordinator, and with which state they go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.app_text import Files, Given, GivenFiles, GivenIn, read_app, values_of
from lockstep.cli.commands.asking import addresses_of, asking
from lockstep.cli.commands.options import AsJson
from lockstep.cli.commands.past import PastOutput, deploy_with_past, wanted_past
from lockstep.cli.output import SHOWN_VERSION, console, errors, print_json, reported
from lockstep.events import LockstepError

LEADS_LIMIT_MS: Final = 15_000
LEADS_POLL_MS: Final = 100
BEGUN: Final = ("node", "begins_behind", "began_empty")


def deploy(
    context: typer.Context,
    files: Files,
    wait: Annotated[
        bool, typer.Option(help="Until a processor leads it, and say with which state it goes on.")
    ] = True,
    parallel: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=128,
            metavar="N",
            help="Cut it into N partitions by key; `lockstep explain --parallel N` shows how.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", help="Fold what was archived from this time on first (ISO 8601)."),
    ] = None,
    from_app: Annotated[
        str | None, typer.Option(help="Whose archive --from reads; else that of the same name.")
    ] = None,
    past_output: Annotated[
        PastOutput, typer.Option(help="Where the rows go that it gives out for the past.")
    ] = PastOutput.ARCHIVE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would begin empty; nothing changes.")
    ] = False,
    given: Given = None,
    given_in: GivenIn = None,
    given_files: GivenFiles = None,
    as_json: AsJson = False,
) -> None:
    """Deploy apps, each from a file of its own. One that replaces the app of that name goes on with
    its state where that fits; with --from, with one folded from what was archived."""
    if from_app is not None and since is None:
        raise typer.BadParameter("it needs --from", param_hint="--from-app")
    values = values_of(given, given_in, given_files)
    texts = [(file, read_app(file, values)) for file in files]
    reports: list[Any] = []
    try:
        if dry_run:
            for _, text in texts:
                reports.append(_preview(context, text, parallel, as_json=as_json))
        elif since is not None:
            wanted = wanted_past(since, from_app, past_output)
            for _, text in texts:
                reports.append(
                    deploy_with_past(context, text, parallel, wanted, wait=wait, as_json=as_json)
                )
        else:
            _deploy(context, texts, parallel, reports, wait=wait, as_json=as_json)
    finally:  # also of what was deployed before another one was refused
        if as_json and reports:
            print_json(reports[0] if len(texts) == 1 else reports)


def _deploy(
    context: typer.Context,
    texts: Sequence[tuple[Path, str]],
    parallel: int | None,
    reports: list[Any],
    *,
    wait: bool,
    as_json: bool,
) -> None:
    """Adds to `reports` the coordinator's answer, and who leads, of each. The first refused one
    ends it: those before it stay deployed, and are reported."""

    async def action(client: Client) -> None:
        for file, text in texts:
            try:
                answer = await client.deploy(text, parallel=parallel)
            except LockstepError:
                if len(texts) > 1:
                    errors.print(f"{file} is not deployed:", markup=False, soft_wrap=True)
                raise
            if not as_json:
                _say_deployed(answer)
            reports.append({"app": answer["app"], **answer, "leader": None})
        for report in reports:
            leader = await _leader(client, report) if wait else None
            report["leader"] = leader and {name: leader[name] for name in BEGUN}
            trouble = await _trouble(client, report) if wait and leader is None else None
            if not as_json:
                _say_led(report, leader, waited=wait, trouble=trouble)

    with reported():
        with_client(addresses_of(context), action)


def _say_deployed(answer: Mapping[str, Any]) -> None:
    units = f" in {answer['units']} units" if answer["units"] > 1 else ""
    version = answer["version"][:SHOWN_VERSION]
    console.print(f"deployed {answer['app']} version {version}{units}", markup=False)


def _say_led(answer: Mapping[str, Any], leader: Any, *, waited: bool, trouble: str | None) -> None:
    app = answer["app"]
    if leader is not None and answer["changed"] and not answer["created"]:
        console.print(f"{app}: {beginning(leader)}", markup=False, soft_wrap=True)
    if waited and leader is None:
        seconds = LEADS_LIMIT_MS // 1_000
        what = app if answer["units"] == 1 else f"all of {app}"
        waits = f": it waits for {answer['waiting']}" if answer["waiting"] else ""
        waits = f": {trouble}" if trouble else waits
        errors.print(
            f"no processor leads {what} after {seconds} s{waits}; see `lockstep status {app}`",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _preview(context: typer.Context, text: str, parallel: int | None, *, as_json: bool) -> Any:
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/preview"
        answer = suite.request("POST", url, json_body={"text": text, "parallel": parallel})
    if not as_json:
        console.print(outlook(answer), markup=False, soft_wrap=True)
    return answer


def outlook(answer: Mapping[str, Any]) -> str:
    """What a deployment would come to."""
    app, lost = answer["app"], answer["begins_empty"]
    if answer["created"]:
        return f"{app} would be deployed for the first time"
    if not answer["changed"]:
        return f"{app} is deployed with this text"
    says = f"{app} would go on with its state"
    if lost:
        says += f"; what would begin empty: {', '.join(lost)}"
    if out := answer.get("sinks_out"):  # earlier releases do not say it
        says += f"; sinks that would be taken out: {', '.join(out)}"
    return says


def beginning(leader: Mapping[str, Any]) -> str:
    """With what an app goes on that was replaced."""
    going_on = f"it goes on from position {leader['begins_behind']} with its state"
    lost = leader["began_empty"]
    return f"{going_on}; what begins empty: {', '.join(lost)}" if lost else going_on


async def _leader(client: Client, deployed: Mapping[str, Any]) -> Any:
    """A replica that leads what was deployed, once every unit is led, with what began empty in any
    of them; None when not in time."""

    def leads(one: Mapping[str, Any]) -> bool:
        wanted = ("active", deployed["version"], deployed["layout"])
        return (one["role"], one["version"], one["layout"]) == wanted

    found = await client.replicas(
        deployed["app"], leads, count=deployed["units"],
        limit_ms=LEADS_LIMIT_MS, poll_ms=LEADS_POLL_MS,
    )  # fmt: skip
    if not found:
        return None
    lost = dict.fromkeys(what for one in found for what in one["began_empty"])
    return {**found[0], "began_empty": list(lost)}


async def _trouble(client: Client, deployed: Mapping[str, Any]) -> str | None:
    """Why a replica of it does not run, where one says so: that counts more than replicas for which
    there is no processor."""
    replicas = (await client.status(deployed["app"]))["replicas"]
    found = (one for one in replicas if one.get("trouble") and one["role"] != "active")
    return next((f"its replica on {one['node']} says: {one['trouble']}" for one in found), None)
