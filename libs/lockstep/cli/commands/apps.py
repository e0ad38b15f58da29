"""undeploy, list, asyncapi, query: talking to the coordinator and the presenter."""

from __future__ import annotations

from typing import Annotated

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.output import SHOWN_VERSION, console, counted, print_json, print_table, show
from lockstep.events.paths import app_path


def undeploy(
    context: typer.Context,
    app: AppName,
    purge: Annotated[
        bool, typer.Option("--purge", help="Forget its logs, revisions and sink cursors, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Undeploy an app."""

    with asking(context) as suite:
        query = "?purge=true" if purge else ""
        url = f"{suite.addresses.coordinator}{app_path(app)}{query}"
        answer = suite.request("DELETE", url)
    if as_json:
        print_json(answer or {"app": app})
    else:
        console.print(f"undeployed {app}")


def list_apps(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the deployed apps."""

    with asking(context) as suite:
        answer = suite.request("GET", f"{suite.addresses.coordinator}/v1/apps")
    if as_json:
        print_json(answer["apps"])
        return
    apps = [{**one, "version": one["version"][:SHOWN_VERSION]} for one in answer["apps"]]
    columns: tuple[str, ...] = ("app", "version", "generation", "replicas", "nodes")
    if any(one.get("waiting") for one in apps):
        columns = (*columns, "waiting")
    show(apps, columns, as_json=False, title="apps", folded=("nodes", "waiting"))


def asyncapi(context: typer.Context, app: AppName) -> None:
    """Print what an app takes and gives, and where, as an AsyncAPI 3.0 document."""

    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/asyncapi.json"
        print_json(suite.request("GET", url))


def query(
    context: typer.Context,
    app: AppName,
    text: Annotated[str, typer.Argument(help="An on-demand query: from T select ...")],
    request_id: Annotated[
        str | None, typer.Option("--id", help="Makes repeating a query that writes harmless.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a table, window or aggregation of a running app, or the past of a stream; or change
    a table."""

    with asking(context) as suite:
        url = f"{suite.addresses.presenter}{app_path(app)}/query"
        headers = {} if request_id is None else {"Idempotency-Key": request_id}
        body = {"query": text, "details": True}
        answer = suite.request("POST", url, json_body=body, headers=headers)
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
