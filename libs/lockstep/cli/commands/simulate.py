"""simulate: feeds for a running app, at random, from a CSV, or from a database's rows."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from lockstep.cli.client import Client, with_client
from lockstep.cli.commands.asking import addresses_of
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.feeding import fetching, sending, stream_of
from lockstep.cli.log_lines import harmless
from lockstep.cli.output import Exit, console, counted, errors, print_json, reported
from lockstep.clock import Randomness, SeededRandomness, SystemClock, SystemRandomness
from lockstep.events.paths import app_path
from lockstep.simulating import (
    Bounds,
    DatabaseRows,
    FeedSetup,
    Figures,
    Phase,
    Setup,
    Simulation,
    SimulationError,
    feed_of,
    read_setup,
)
from lockstep.simulating.streams import columns_of
from lockstep.simulating.values import duration_ms

BOUNDS: Final = Bounds(max_feeds=100, max_rate_per_s=1_000_000, max_rows=1_000_000)
SHOWN_EVERY_MS: Final = 200
OPTIONS: Final = {
    "random, csv or database": "--random, --csv, or --datasource with --table or --select",
    "table or select": "--table or --select",
    "time_column": "--time-column",
    "limit_events": "--limit",
    "for_ms": "--for",
}
"""What errors of a set-up name, and the options that say the same here."""


def simulate(
    context: typer.Context,
    app: AppName,
    stream: Annotated[str | None, typer.Option(help="Where the events go.")] = None,
    random: Annotated[
        Path | None,
        typer.Option(exists=True, help='JSON: a rule for each attribute, {"room": "attic|hall"}.'),
    ] = None,
    csv: Annotated[Path | None, typer.Option(exists=True, help="A CSV file.")] = None,
    datasource: Annotated[
        str | None, typer.Option(help="A datasource of the suite, with --table or --select.")
    ] = None,
    table: Annotated[str, typer.Option(help="A table of the datasource.")] = "",
    select: Annotated[str, typer.Option(help="A SELECT, asked of the datasource.")] = "",
    setup: Annotated[
        Path | None,
        typer.Option(exists=True, help="JSON: several feeds, as the console's page keeps them."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Events per second.")] = 10.0,
    speed: Annotated[
        float | None,
        typer.Option(help="Instead of a rate: so many times as fast as --time-column says."),
    ] = None,
    time_column: Annotated[str, typer.Option(help="Holds the time of each row.")] = "",
    keep_times: Annotated[
        bool, typer.Option("--keep-times", help="Events carry the time of their row.")
    ] = False,
    repeat: Annotated[int, typer.Option(help="How often rows are sent; 0: until Ctrl-C.")] = 1,
    limit: Annotated[int | None, typer.Option(help="So many events at most.")] = None,
    lasting: Annotated[str | None, typer.Option("--for", help="So long: 90s, 5m, 2h.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed draws the same values.")] = None,
    as_json: AsJson = False,
) -> None:
    """Feed a running app until the feed ends or Ctrl-C: at random, from a CSV or from a database.

    A receiver that is busy slows it down. Exit code 2 when some events were refused.
    """
    with reported():
        if setup is not None:
            wanted = read_setup(setup.read_bytes(), BOUNDS)
        else:
            rows = None
            if datasource is not None:
                rows = DatabaseRows(datasource=datasource, table=table, select=select)
            feed = FeedSetup(
                stream=_named(stream), random=None if random is None else _rules(random),
                csv=None if csv is None else _text(csv), database=rows, rate_per_s=rate,
                speed=speed, time_column=time_column, keep_times=keep_times, repeat=repeat,
                limit_events=limit,
                for_ms=None if lasting is None else duration_ms(lasting, "--for"),
            )  # fmt: skip
            wanted = _checked(feed)
        randomness = SystemRandomness() if seed is None else SeededRandomness(seed)
        figures = with_client(
            addresses_of(context),
            lambda client: _run(client, app, wanted, randomness, quiet=as_json),
        )
    _show(figures, as_json=as_json)


def _named(stream: str | None) -> str:
    if not stream:
        raise SimulationError("names no stream", hint="--stream, or --setup with several feeds")
    return stream


def _checked(feed: FeedSetup) -> Setup:
    """The set-up of one feed; SimulationError names options, as nobody has written a set-up."""
    try:
        return read_setup(Setup(feeds=[feed]).text(), BOUNDS)
    except SimulationError as error:
        message, hint = error.message, error.hint
        for word, option in OPTIONS.items():
            message, hint = message.replace(word, option), hint and hint.replace(word, option)
        raise SimulationError(message, where=error.where, hint=hint) from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SimulationError(f"is not UTF-8: {error.reason}", where=str(path)) from error


def _rules(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except ValueError as error:
        raise SimulationError(f"is not JSON: {error}", where=str(path)) from error
    if not isinstance(found, dict):
        raise SimulationError("is no object of rules", where=str(path), hint='{"room": "a|b"}')
    return found


async def _run(
    client: Client, app: str, setup: Setup, randomness: Randomness, *, quiet: bool
) -> list[Figures]:
    base = client.addresses
    text = (await client.request("GET", f"{base.coordinator}{app_path(app)}"))["text"]
    streams = columns_of(text)

    async def post(path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        return await client.request("POST", base.receiver + path, body=body, headers=headers)

    fetch = fetching(post, errors.print)
    feeds = [
        await feed_of(one, stream_of(streams, app, one.stream), randomness, fetch, BOUNDS)
        for one in setup.feeds
    ]
    clock, key = SystemClock(), SystemRandomness().uuid_hex()
    simulation = Simulation(feeds, sending(app, post), clock, key)
    simulation.start()
    showing = asyncio.get_running_loop().create_task(_told(simulation, clock, quiet=quiet))
    try:
        # Ctrl-C ends it in order: what is under way is answered first.
        with contextlib.suppress(asyncio.CancelledError):
            await simulation.wait()
        await simulation.stop()
        return simulation.figures()
    finally:
        showing.cancel()
        await asyncio.wait([showing])
        await simulation.stop_now()


async def _told(simulation: Simulation, clock: SystemClock, *, quiet: bool) -> None:
    """A line for each feed, while it runs; on a terminal alone."""
    with Progress(
        TextColumn("{task.description}"), BarColumn(),
        TextColumn("{task.fields[told]}", markup=False), TimeElapsedColumn(),
        console=console, disable=quiet or not console.is_terminal,
    ) as bar:  # fmt: skip
        tasks: list[TaskID] = [
            bar.add_task(one.stream, total=one.total, told="") for one in simulation.figures()
        ]
        try:
            while True:
                _update(bar, tasks, simulation.figures())
                await clock.sleep_ms(SHOWN_EVERY_MS)
        finally:
            _update(bar, tasks, simulation.figures())


def _update(bar: Progress, tasks: list[TaskID], figures: list[Figures]) -> None:
    for task, one in zip(tasks, figures, strict=True):
        told = f"{one.sent} sent, {one.refused} refused, {one.waiting} waiting {one.trouble}"
        bar.update(task, completed=one.sent + one.refused, told=harmless(told.strip()))


def _show(figures: list[Figures], *, as_json: bool) -> None:
    if as_json:
        print_json({"feeds": [_as_json(one) for one in figures]})
    for one in () if as_json else figures:
        held = f", held up {counted(one.held_up, 'time')}" if one.held_up else ""
        refused = f", refused {one.refused}" if one.refused else ""
        console.print(
            f"{one.stream}: {one.phase}, sent {counted(one.sent, 'event')}{refused}{held}",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        for word in (one.reason and f"refused: {one.reason}", one.trouble):
            if word:
                errors.print(f"{one.stream}: {word}", markup=False, soft_wrap=True)
    if any(one.phase is Phase.FAILED for one in figures):
        raise typer.Exit(int(Exit.FAILED))
    if any(one.refused for one in figures):
        raise typer.Exit(int(Exit.USAGE))


def _as_json(one: Figures) -> dict[str, Any]:
    return {
        "stream": one.stream, "phase": one.phase, "sent": one.sent, "refused": one.refused,
        "reason": one.reason, "held_up": one.held_up, "trouble": one.trouble,
    }  # fmt: skip
