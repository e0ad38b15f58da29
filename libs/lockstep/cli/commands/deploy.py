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
        answer = await client.deploy(read_app(file))
        return answer, await _leader(client, answer) if wait else None

    with reported():
        answer, leader = with_client(addresses_of(context), action)
    if as_json:
        begun = ("node", "begins_behind", "began_empty")
        print_json(answer | {"leader": leader and {name: leader[name] for name in begun}})
        return
    app = answer["app"]
    console.print(f"deployed {app} version {answer['version'][:SHOWN_VERSION]}", markup=False)
    if leader is not None and answer["changed"] and not answer["created"]:
        console.print(beginning(leader), markup=False, soft_wrap=True)
    if wait and leader is None:
        seconds = LEADS_LIMIT_MS // 1_000
        errors.print(f"no processor leads it after {seconds} s; see `lockstep status {app}`")


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
    """The replica that leads what was deployed; None when none does in time."""
    return await client.replica(
        deployed["app"],
        lambda one: one["role"] == "active" and one["version"] == deployed["version"],
        limit_ms=LEADS_LIMIT_MS,
        poll_ms=LEADS_POLL_MS,
    )
