"""replay: a file of events, in by the receiver's door."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of
from lockstep.cli.commands.options import AppName, AsJson, StreamName
from lockstep.cli.output import console, print_json, reported
from lockstep.cli.replay import ReplayFile, replay_file


def replay(
    context: typer.Context,
    app: AppName,
    stream: StreamName,
    file: Annotated[Path, typer.Argument(exists=True, help="CSV, NDJSON or Parquet.")],
    time_column: Annotated[
        str | None, typer.Option(help="Column with the event time (epoch ms or a timestamp).")
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            min=0.0, help="1 = as fast as it happened, 60 = an hour a minute, 0 = flat out."
        ),
    ] = 0.0,
    batch: Annotated[int, typer.Option(min=1, help="Events per request.")] = 2000,
    as_json: AsJson = False,
) -> None:
    """Replay a file into a stream in time order, with a progress bar."""
    with reported():
        source = ReplayFile.open(file, time_column)

    async def action(client: Client) -> Any:
        with Progress(
            TextColumn("replay"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=as_json,
        ) as bar:
            task = bar.add_task("replay", total=source.rows)
            return await replay_file(
                client,
                app,
                stream,
                source,
                speed=speed,
                batch=batch,
                advance=lambda n: bar.advance(task, n),
            )

    with reported():
        answer = with_client(addresses_of(context), action)
    if as_json:
        print_json(answer)
    else:
        console.print(f"accepted {answer['accepted']} refused {answer['refused']}")
