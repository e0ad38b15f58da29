"""replay: a file of events, in by the receiver's door."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of
from lockstep.cli.commands.options import AppName, AsJson, StreamName
from lockstep.cli.feeding import MAX_BATCH_EVENTS, stream_of
from lockstep.cli.output import Exit, console, errors, print_json, reported
from lockstep.cli.refusals import RefusedError
from lockstep.cli.replay import Replayed, replay_file
from lockstep.cli.replay_files import ReplayFile
from lockstep.events import LockstepError, UnavailableError
from lockstep.events.paths import app_path
from lockstep.siddhiql import SiddhiQLError
from lockstep.simulating import Columns
from lockstep.simulating.streams import columns_of


def replay(
    context: typer.Context,
    app: AppName,
    stream: StreamName,
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="CSV, NDJSON or Parquet.")
    ],
    time_column: Annotated[
        str | None, typer.Option(help="Column with the event time (epoch ms or a timestamp).")
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            min=0.0, help="1 = as fast as it happened, 60 = an hour a minute, 0 = flat out."
        ),
    ] = 0.0,
    batch: Annotated[int, typer.Option(min=1, help="Events per request.")] = MAX_BATCH_EVENTS,
    as_json: AsJson = False,
) -> None:
    """Replay a file into a stream in time order, with a progress bar.

    Rows that are refused are told with their numbers in the file, and all others are sent. Exit
    code 2 when some were refused.

    Sent again soon, with the same --batch and --time-column and into the same version of the app,
    the same file adds only what is not there yet. A file that was changed is another one: send
    mended rows in a file of their own.
    """
    total = Replayed()

    async def action(client: Client) -> None:
        source = ReplayFile.open(file, time_column, await _columns(client, app, stream))
        with Progress(
            TextColumn("replay"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=as_json,
        ) as bar:
            task = bar.add_task("replay", total=source.rows)
            await replay_file(
                client,
                app,
                stream,
                source,
                speed=speed,
                batch=batch,
                advance=lambda n: bar.advance(task, n),
                total=total,
            )

    with reported():
        try:
            with_client(addresses_of(context), action)
        except LockstepError:
            if total.accepted or total.refused:
                _say(total, as_json)
            raise
    _say(total, as_json)
    if total.refused:
        raise typer.Exit(int(Exit.USAGE))


def _say(total: Replayed, as_json: bool) -> None:
    if as_json:
        print_json(asdict(total))
        return
    there = f", {total.duplicates} were there already" if total.duplicates else ""
    left = f", {total.left} are left" if total.left else ""
    console.print(f"accepted {total.accepted} refused {total.refused}{there}{left}")
    for reason in total.reasons:
        errors.print(f"refused {reason}", markup=False, soft_wrap=True)


async def _columns(client: Client, app: str, stream: str) -> Columns:
    """The stream's attributes; none where they cannot be known, as only the receiver is needed."""
    url = f"{client.addresses.coordinator}{app_path(app)}"
    try:
        text: str = (await client.request("GET", url))["text"]
        streams = columns_of(text)
    except RefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return ()  # the receiver says so, or first that one may not send
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        why = "you may not see the app"
    except UnavailableError:
        why = "the coordinator does not answer"
    except SiddhiQLError as error:  # an extension that the suite alone has
        why = f"the text of the app cannot be read here ({error.message})"
    else:
        return stream_of(streams, app, stream)
    errors.print(f"{why}: values are read as they look", markup=False)
    return ()
