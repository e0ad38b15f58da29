"""backtest: any version of an app over what was archived."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from lockstep.cli.commands.archive import place_of
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, print_json, print_table, reported
from lockstep.cli.times import parsed_ms
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import prepare_spark_environment
from lockstep.history.backtest import Report, Run, Wanted, backtest, run_here, text_of, told
from lockstep.history.comparing import as_json as difference_as_json
from lockstep.settings import Settings, load_settings
from lockstep.siddhiql.durations import duration_ms

RUNNING: Final = "running"
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
    differences: Annotated[int, typer.Option(min=0, help="How many are shown.")] = 10,
    despite_gaps: Annotated[
        bool, typer.Option("--despite-gaps", help="Also where the archive lacks something.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an app over what was archived, and compare what it gives with what was published."""
    if against not in (None, RUNNING):
        raise typer.BadParameter("there is only `running`", param_hint="--against")
    with reported():
        settings = load_settings()
        try:
            warm_up_ms = duration_ms(warm_up) if warm_up else 0
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--warm-up") from error
        wanted = Wanted(
            text_of(file), app, since and parsed_ms(since), until and parsed_ms(until),  # type: ignore[arg-type]
            warm_up_ms, parallel, against is not None, despite_gaps, differences,
        )  # fmt: skip
        name = f"{SystemClock().now_ms()}-{SystemRandomness().uuid_hex()[:8]}"
        started_ms = SystemClock().monotonic_ms()
        run = run_here if here else _on_spark(settings)
        report = backtest(wanted, place_of(context), settings, run, name)
        took_ms = SystemClock().monotonic_ms() - started_ms
    _show(report, took_ms, as_json=as_json)
    found = report.compared
    if found is not None and (found.missing or found.other):
        raise typer.Exit(int(Exit.FAILED))


def _on_spark(settings: Settings) -> Run:
    """On the executors that the settings name."""
    prepare_spark_environment()
    from lockstep.execute.spark.bulk import run_tasks
    from lockstep.history.asking import spark_options

    return partial(run_tasks, options=spark_options(settings))


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
