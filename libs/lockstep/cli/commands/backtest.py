"""backtest: any version of an app over what was archived."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from lockstep import history
from lockstep.cli.commands.app_text import read_app
from lockstep.cli.commands.archive import place_of
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import (
    Exit,
    console,
    counted,
    fail,
    print_json,
    print_table,
    reported,
)
from lockstep.cli.times import parsed_ms, shown_exactly
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import prepare_spark_environment
from lockstep.history.backtest import Report, Run, Wanted, backtest, run_here, told
from lockstep.history.comparing import as_json as difference_as_json
from lockstep.history.stopping import Stopped, stopped
from lockstep.settings import Settings, load_settings
from lockstep.siddhiql.durations import duration_ms

RUNNING: Final = "running"
STATE: Final = ("part", "of", "time", "holds")
DIFFERENCES: Final = ("kind", "stream", "position", "timestamp_ms", "values")


def run_backtest(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The app's text.")],
    since: Annotated[str | None, typer.Option("--from", help="A time (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Up to before this time.")] = None,
    warm_up: Annotated[
        str | None, typer.Option(help="Fold so much before it, without its rows: '1 hour'.")
    ] = None,
    app: Annotated[str | None, typer.Option(help="Whose input; else the text's own name.")] = None,
    against: Annotated[
        str | None, typer.Option(help="`running`: compare with what was published.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, max=128, help="Cut into so many.")] = 1,
    here: Annotated[bool, typer.Option("--here", help="In this process, without Spark.")] = False,
    stop_at: Annotated[
        str | None, typer.Option("--until", help="Stop at this time, and show the state.")
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(help="Stop at the first row of this query or stream, and show the state."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="So many of each window and table.")] = 20,
    differences: Annotated[int, typer.Option(min=0, help="How many are shown.")] = 10,
    despite_gaps: Annotated[
        bool, typer.Option("--despite-gaps", help="Also where the archive lacks something.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an app over what was archived, and compare what it gives with what was published."""
    if against not in (None, RUNNING):
        raise typer.BadParameter("there is only `running`", param_hint="--against")
    stops = stop_at is not None or watch is not None
    if stops and (against is not None or parallel > 1 or (stop_at and until)):
        raise typer.BadParameter(
            "a run that stops goes without --against, --parallel and, with --until, without --to",
            param_hint="--until, --watch",
        )
    with reported():
        settings = load_settings()
        try:
            warm_up_ms = duration_ms(warm_up) if warm_up else 0
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--warm-up") from error
        end = stop_at or until
        wanted = Wanted(
            read_app(file), app, since and parsed_ms(since), end and parsed_ms(end),  # type: ignore[arg-type]
            warm_up_ms, parallel, against is not None, despite_gaps, differences,
        )  # fmt: skip
        if stops:
            found = stopped(wanted, watch, place_of(context), settings, rows=rows)
            _show_state(found, watch, as_json=as_json)
            return
        name = f"{SystemClock().now_ms()}-{SystemRandomness().uuid_hex()[:8]}"
        started_ms = SystemClock().monotonic_ms()
        run = run_here if here else _on_spark(settings)
        report = backtest(wanted, place_of(context), settings, run, name)
        took_ms = SystemClock().monotonic_ms() - started_ms
    _show(report, took_ms, as_json=as_json)
    against_it = report.compared
    if against_it is not None and (against_it.missing or against_it.other):
        raise typer.Exit(int(Exit.FAILED))


def _on_spark(settings: Settings) -> Run:
    """On the executors that the settings name."""
    prepare_spark_environment()
    return partial(history.run_on_spark, settings)


def _show(report: Report, took_ms: int, *, as_json: bool) -> None:
    found = report.compared
    first = [] if found is None else [difference_as_json(one) for one in found.first]
    if as_json:
        print_json({**told(report), "took_ms": took_ms, "differences": first})
        return
    if first:
        rows = [[one[column] for column in DIFFERENCES] for one in first]
        print_table(DIFFERENCES, rows, title="first differences")
    said = {**told(report), "seconds": round(took_ms / 1000, 1)}
    results = said.pop("results")
    console.print("backtest: " + " ".join(f"{key}={value}" for key, value in said.items()))
    console.print(f"rows: {results}")


def _show_state(found: Stopped, watch: str | None, *, as_json: bool) -> None:
    """Also exits with 1 where the watched query gave nothing."""
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        at = f"position {found.position}, {shown_exactly(found.clock_ms)}"
        console.print(f"stopped: {at}, behind {counted(found.events, 'event')}", highlight=False)
        if found.came is not None:
            console.print(
                "what came: " + json.dumps(found.came, default=str), markup=False, soft_wrap=True
            )
        for one in found.gave:
            word = "what left" if one.expired else "what it gave"
            values = json.dumps(one.values, default=str)
            console.print(
                f"{word}: {shown_exactly(one.timestamp_ms)} {values}", markup=False, soft_wrap=True
            )
        lines: list[list[object]] = []
        for part in found.state:
            if part.rest is not None:
                lines.append([part.part, "", "", json.dumps(part.rest, default=str)])
            of = f"{len(part.events)} of {part.count}"
            for time_ms, held in part.events:
                time = "" if time_ms is None else shown_exactly(time_ms)
                lines.append([part.part, of, time, json.dumps(held, default=str)])
        print_table(STATE, lines, title="state")
        if found.more_parts:
            console.print(f"and {counted(found.more_parts, 'more part')}")
    if watch is not None and not found.gave:
        fail(f"'{watch}' gave no row", Exit.FAILED)
