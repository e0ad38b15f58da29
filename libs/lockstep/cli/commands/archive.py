"""archive list, status, query, erase: what is kept of what apps took in and gave out."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import pyarrow as pa
import typer

from lockstep import history
from lockstep.archive.listing import listed
from lockstep.archive.place import Place, place_of_settings
from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson, Connection
from lockstep.cli.exporting import SUFFIXES, Rows, exported
from lockstep.cli.output import (
    Exit,
    console,
    counted,
    errors,
    fail,
    print_json,
    print_table,
    reported,
    show,
)
from lockstep.cli.suite import archive_folder
from lockstep.cli.waiting import calling_off, progress
from lockstep.embedded import prepare_spark_environment
from lockstep.events.paths import app_path
from lockstep.settings import load_settings

PRINTED_ROWS: Final = 1_000
"""So many where nothing else is said; a file has all rows then."""
LISTED: Final = ("app", "logs_since", "side", "stream", "rows", "size_bytes", "first", "last")
STATUS: Final = ("sink", "sequence", "log_end", "behind", "trouble", "node")

commands = typer.Typer(
    name="archive",
    no_args_is_help=True,
    help="What apps took in and gave out, kept for good: list, status, query, erase.",
)


def place_of(context: typer.Context) -> Place:
    """The archive that the settings name, else that of the suite's folder."""
    connection: Connection = context.obj
    settings = load_settings().archive
    return place_of_settings(settings) or Place(archive_folder(connection.directory))


@commands.command("list")
def list_tables(
    context: typer.Context,
    app: Annotated[str | None, typer.Argument(help="Of one app only.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tables: how many rows, how large, which positions."""
    with reported():
        found = [asdict(one) for one in listed(place_of(context), app)]
    for one in found:
        since_ms = one.pop("since_ms")
        since = datetime.fromtimestamp(since_ms / 1000, UTC).isoformat(timespec="seconds")
        one["logs_since"] = since if since_ms else ""
        one["stream"] = one["stream"] or "(records)"
    show(found, LISTED, as_json=as_json, title="archive")


@commands.command()
def status(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Show how far the archive of an app is behind its logs, and what troubles it."""
    with asking(context) as suite:
        answer = suite.request("GET", f"{suite.addresses.coordinator}{app_path(app)}/status")
    sinks = [one for one in answer["sinks"] if one["sink"].startswith("archive.")]
    found = [{**one, "behind": max(0, one["log_end"] - one["sequence"])} for one in sinks]
    show(found, STATUS, as_json=as_json, title=f"archive of {app}", folded=("trouble",))


@commands.command()
def query(
    context: typer.Context,
    sql: Annotated[str, typer.Argument(help="Spark SQL; tables are named as the app's streams.")],
    app: Annotated[str | None, typer.Option(help="Whose streams; all apps' without it.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Rows at most; 1,000 are printed, and all exported, without it."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the rows to this file: .csv or .parquet.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask what was archived, by Spark SQL: local, or on the cluster of the settings."""
    if export is not None and export.suffix not in SUFFIXES:
        fail(f"'{export.name}' is neither .csv nor .parquet", Exit.USAGE)
    most = PRINTED_ROWS if limit is None and export is None else limit
    with reported(), calling_off() as running:
        prepare_spark_environment()
        # One row more tells whether there are more.
        wanted = None if most is None else most + 1
        with progress() as told:
            found = history.streamed(history.History(place_of(context)), sql, app, wanted, told)
            running.append(found)
            rows = Rows(found, found.schema, most)
            if export is not None:
                exported(rows, export)
            else:
                shown = pa.Table.from_batches(rows, rows.schema)
    if export is not None:
        console.print(f"{counted(rows.count, 'row')} in {export}")
    elif as_json:
        print_json(shown.to_pylist())
    else:
        cells = [list(one.values()) for one in shown.to_pylist()]
        print_table(shown.column_names, cells, title="answer")
    if rows.is_cut:
        way = (
            "without --limit, all are exported"
            if export
            else "`--export rows.parquet` has them all"
        )
        errors.print(f"cut after {counted(rows.count, 'row')}: {way}", soft_wrap=True)


@commands.command()
def erase(
    context: typer.Context,
    app: AppName,
    stream: Annotated[str, typer.Argument(help="Stream or stored table.")],
    where: Annotated[str, typer.Option(help="Which rows, as SQL has it: \"user = 'bob'\".")],
    as_json: AsJson = False,
) -> None:
    """Erase rows for good: out of the tables of all lives of the app, deployed or not, the rows of
    its pasts and the results of back-tests. Other streams, and results of scripts (_batch), are not
    looked through."""
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}{app_path(app)}/archive/erase"
        answer = suite.request("POST", url, json_body={"stream": stream, "where": where})
    if as_json:
        print_json(answer)
    else:
        tables = counted(answer["tables"], "table")
        console.print(f"erased: {counted(answer['rows'], 'row')} out of {tables}")
        for path in answer["skipped"]:
            console.print(f"no such column, and so no such row: {path}", soft_wrap=True)
