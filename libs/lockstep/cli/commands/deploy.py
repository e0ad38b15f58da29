"""deploy: an app's text to the coordinator, and with which state it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.app_text import OneFile, read_app
from lockstep.cli.commands.asking import addresses_of, asking
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import SHOWN_VERSION, console, errors, print_json, reported

LEADS_LIMIT_MS: Final = 15_000
LEADS_POLL_MS: Final = 100


def deploy(
    context: typer.Context,
    file: OneFile,
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would begin empty; nothing changes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Deploy an app, or replace the one of that name, which goes on with its state where that
    fits."""
    if dry_run:
        _preview(context, read_app(file), as_json=as_json)
        return

    async def action(client: Client) -> tuple[Any, Any]:
        answer = await client.deploy(read_app(file), parallel=parallel)
        return answer, await _leader(client, answer) if wait else None

    with reported():
        answer, leader = with_client(addresses_of(context), action)
    if as_json:
        begun = ("node", "begins_behind", "began_empty")
        print_json(answer | {"leader": leader and {name: leader[name] for name in begun}})
        return
    app = answer["app"]
    units = f" in {answer['units']} units" if answer["units"] > 1 else ""
    console.print(
        f"deployed {app} version {answer['version'][:SHOWN_VERSION]}{units}", markup=False
    )
    if leader is not None and answer["changed"] and not answer["created"]:
        console.print(beginning(leader), markup=False, soft_wrap=True)
    if wait and leader is None:
        seconds = LEADS_LIMIT_MS // 1_000
        what = "it" if answer["units"] == 1 else "all of it"
        waits = f": it waits for {answer['waiting']}" if answer["waiting"] else ""
        errors.print(
            f"no processor leads {what} after {seconds} s{waits}; see `lockstep status {app}`",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _preview(context: typer.Context, text: str, *, as_json: bool) -> None:
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/preview"
        answer = suite.request("POST", url, json_body={"text": text})
    if as_json:
        print_json(answer)
    else:
        console.print(outlook(answer), markup=False, soft_wrap=True)


def outlook(answer: Mapping[str, Any]) -> str:
    """What a deployment would come to."""
    app, lost = answer["app"], answer["begins_empty"]
    if answer["created"]:
        return f"{app} would be deployed for the first time"
    if not answer["changed"]:
        return f"{app} is deployed with this text"
    going_on = f"{app} would go on with its state"
    return f"{going_on}; what would begin empty: {', '.join(lost)}" if lost else going_on


def beginning(leader: Mapping[str, Any]) -> str:
    """With what an app goes on that was replaced."""
    going_on = f"it goes on from position {leader['begins_behind']} with its state"
    lost = leader["began_empty"]
    return f"{going_on}; what begins empty: {', '.join(lost)}" if lost else going_on


async def _leader(client: Client, deployed: Mapping[str, Any]) -> Any:
    """A replica that leads what was deployed, once every unit is led; None when not in time."""

    def leads(one: Mapping[str, Any]) -> bool:
        wanted = ("active", deployed["version"], deployed["layout"])
        return (one["role"], one["version"], one["layout"]) == wanted

    found = await client.replicas(
        deployed["app"], leads, count=deployed["units"],
        limit_ms=LEADS_LIMIT_MS, poll_ms=LEADS_POLL_MS,
    )  # fmt: skip
    return found[0] if found else None
