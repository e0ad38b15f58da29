"""test: the tests beside the apps, on a virtual clock and without a running suite."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from io import TextIOBase
from pathlib import Path
from typing import Annotated, TextIO, cast

import typer

from lockstep.cli.commands.app_text import Given, GivenFiles, GivenIn, values_of
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, print_json, reported
from lockstep.functions.geo import addresses
from lockstep.settings import load_settings
from lockstep.telemetry import configure_logging
from lockstep.testing.files import Report, run_paths

_STYLES = {"ok   ": "green", "new  ": "yellow", "FAIL ": "red", "    -": "red", "    +": "green"}
"""Colours of the lines of a report, by their beginning."""


class ExecutorName(StrEnum):
    """The executors of an app under test."""

    REFERENCE = "reference"
    COLUMNAR = "columnar"
    SPARK = "spark"


class _StandardError(TextIOBase):
    """Whatever is standard error when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _log_to_stderr() -> None:
    """What apps log (`#log`, dropped events) goes to standard error: standard output is answers."""
    configure_logging(
        service="lockstep", log_format="console", stream=cast(TextIO, _StandardError())
    )


def run_tests(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files or folders.")],
    update: Annotated[
        bool, typer.Option("--update", help="Rewrite the expectations with what came.")
    ] = False,
    executor: Annotated[ExecutorName, typer.Option(help="Which executor runs the apps.")] = (
        ExecutorName.REFERENCE
    ),
    parallel: Annotated[
        int,
        typer.Option(
            min=1,
            help="Run the apps cut into so many partitions, as deploy --parallel cuts them. "
            "The events that a call brings are then compared in any order.",
        ),
    ] = 1,
    given: Given = None,
    given_in: GivenIn = None,
    given_files: GivenFiles = None,
    as_json: AsJson = False,
) -> None:
    """Run the tests beside the apps, on a virtual clock."""
    if parallel > 1 and update:
        raise typer.BadParameter("--update writes what one node brings: leave --parallel out")
    _log_to_stderr()
    with reported():
        addresses.put_in_force(load_settings().places.folder)
        reports = run_paths(
            paths,
            executor=executor.value,
            update=update,
            parallel=parallel,
            values=values_of(given, given_in, given_files),
        )
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        _show_reports(reports)
    if not reports or any(not report.passed for report in reports):
        raise typer.Exit(int(Exit.FAILED))


def _show_reports(reports: Sequence[Report]) -> None:
    for report in reports:
        for line in report.text().split("\n"):
            style = _STYLES.get(line[:5], "")
            console.print(line, style=style, markup=False, soft_wrap=True)
    if not reports:
        console.print("there are no tests", soft_wrap=True)
        return
    failed = sum(1 for report in reports if not report.passed)
    rewritten = sum(1 for report in reports if report.rewritten)
    if any(report.differences and not report.rewritten for report in reports):
        console.print("- was expected, + came; lockstep test --update accepts what came")
    parts = [f"{len(reports) - failed} passed", f"{failed} failed"]
    parts += [f"{rewritten} of them rewritten"] if rewritten else []
    cut = sum(1 for report in reports if report.cut)
    parts += [f"{cut} of them cut into partitions"] if cut else []
    console.print(", ".join(parts))
