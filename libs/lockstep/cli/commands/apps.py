"""deploy, undeploy, list, query: talking to the coordinator and the presenter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lockstep.cli.client import Client
from lockstep.cli.commands.options import AsJson, with_client
from lockstep.cli.commands.texts import read_app
from lockstep.cli.output import (
    SHOWN_VERSION,
    console,
    counted,
    errors,
    print_json,
    print_table,
    show,
)

AppName = Annotated[str, typer.Argument(help="Name of the app.")]
AppFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .siddhi file.")]

LEADS_LIMIT_MS: Final = 15_000
LEADS_POLL_MS: Final = 100


def deploy(
    context: typer.Context,
    file: AppFile,
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

    answer, leader = with_client(context, action)
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
    async def action(client: Client) -> Any:
        url = f"{client.addresses.coordinator}/v1/preview"
        return await client.request("POST", url, json_body={"text": text})

    answer = with_client(context, action)
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


def undeploy(
    context: typer.Context,
    app: AppName,
    purge: Annotated[
        bool, typer.Option("--purge", help="Forget its logs, revisions and sink cursors, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Undeploy an app."""

    async def action(client: Client) -> Any:
        query = "?purge=true" if purge else ""
        url = f"{client.addresses.coordinator}/v1/apps/{app}{query}"
        return await client.request("DELETE", url)

    answer = with_client(context, action)
    if as_json:
        print_json(answer or {"app": app})
    else:
        console.print(f"undeployed {app}")


def list_apps(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the deployed apps."""

    async def action(client: Client) -> Any:
        return await client.request("GET", f"{client.addresses.coordinator}/v1/apps")

    answer = with_client(context, action)
    if as_json:
        print_json(answer["apps"])
        return
    apps = [{**one, "version": one["version"][:SHOWN_VERSION]} for one in answer["apps"]]
    columns = ("app", "version", "generation", "replicas", "nodes")
    show(apps, columns, as_json=False, title="apps", folded=("nodes",))


def query(
    context: typer.Context,
    app: AppName,
    text: Annotated[str, typer.Argument(help="An on-demand query: from T select ...")],
    request_id: Annotated[
        str | None, typer.Option("--id", help="Makes repeating a query that writes harmless.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a table, window or aggregation of a running app, or change a table."""

    async def action(client: Client) -> Any:
        url = f"{client.addresses.presenter}/v1/apps/{app}/query"
        headers = {} if request_id is None else {"Idempotency-Key": request_id}
        body = {"query": text, "details": True}
        return await client.request("POST", url, json_body=body, headers=headers)

    answer = with_client(context, action)
    if as_json:
        print_json(answer)
        return
    if "changed" in answer:
        console.print(f"changed {counted(answer['changed'], 'row')}")
        return
    columns = [detail["name"] for detail in answer.get("details", [])]
    records = answer["records"]
    width = len(records[0]) if records else 0
    print_table(columns or [str(i + 1) for i in range(width)], records, title="records")
