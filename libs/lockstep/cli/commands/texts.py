"""validate, explain, test: what needs the text alone and no running suite."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import (
    Exit,
    console,
    errors,
    fail,
    log_to_stderr,
    print_json,
    reported,
)
from lockstep.execute.explain import explain_execution
from lockstep.operators.runtime.rehearsal import rehearse
from lockstep.plan import build
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.testing.files import Report, run_paths
from lockstep.testing.scenario import app_of

Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help=".siddhi files.")]
OneFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .siddhi file.")]

_STYLES = {"ok   ": "green", "new  ": "yellow", "FAIL ": "red", "    -": "red", "    +": "green"}
"""Colours of the lines of a report, by their beginning."""


class ExecutorName(StrEnum):
    """The executors of an app under test."""

    REFERENCE = "reference"
    SPARK = "spark"


def validate(files: Files, as_json: AsJson = False) -> None:
    """Check app texts; a mistake is shown with its line, column, what is wrong and a hint."""
    log_to_stderr()
    reports = []
    for file in files:
        text = read_app(file)
        try:
            plan = build(check(text))
            rehearse(plan)
        except SiddhiQLError as error:
            reports.append(
                {
                    "file": str(file),
                    "valid": False,
                    "line": error.line,
                    "column": error.column,
                    "message": error.message,
                    "hint": error.hint,
                }
            )
            if not as_json:
                show_error(file, text, error)
        else:
            reports.append({"file": str(file), "valid": True, "app": plan.name})
            if not as_json:
                console.print(f"{file}: ok ({plan.name})", markup=False, soft_wrap=True)
    if as_json:
        print_json(reports)
    if not all(report["valid"] for report in reports):
        raise typer.Exit(int(Exit.USAGE))


def read_app(file: Path) -> str:
    """The app in a file, without the tests behind it; leaves the command when it is no text."""
    try:
        return app_of(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        fail(f"{file} is no text in UTF-8", Exit.USAGE)


def show_error(file: Path, text: str, error: SiddhiQLError) -> None:
    """What is wrong, the line it stands in with a mark below, and the hint: on stderr."""
    shown = [f"{file}:{error.line}:{error.column}: {error.message}"]
    lines = text.split("\n")
    if 1 <= error.line <= len(lines):
        # A tab is one column of the position, so it must be one column of the screen.
        shown.append("  " + lines[error.line - 1].replace("\t", " ").rstrip())
        shown.append("  " + " " * (error.column - 1) + "^")
    if error.hint:
        shown.append(f"  hint: {error.hint}")
    errors.print("\n".join(shown), markup=False, soft_wrap=True)


def explain(
    file: OneFile,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark and add its own plan of a slice's job.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the plan of an app and what runs each query: columns, or the reference and why."""
    text = read_app(file)
    try:
        explained = explain_execution(build(check(text)))
    except SiddhiQLError as error:
        show_error(file, text, error)
        raise typer.Exit(int(Exit.USAGE)) from None
    with reported():
        job = _spark_plan() if spark else None
    if as_json:
        print_json(explained.as_json() | {"spark_plan": job})
        return
    console.print(explained.text(), markup=False, soft_wrap=True)
    if job is not None:
        console.print("Spark's plan of a slice's job:", soft_wrap=True)
        console.print(job, markup=False, soft_wrap=True)


def _spark_plan() -> str:
    from lockstep.embedded import prepare_spark_environment
    from lockstep.execute.spark import SparkOptions, close_slices, open_slices, spark_plan

    prepare_spark_environment()
    try:
        return spark_plan(open_slices(SparkOptions(master="local[1]")))
    finally:
        close_slices()


def run_tests(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files or folders.")],
    update: Annotated[
        bool, typer.Option("--update", help="Rewrite the expectations with what came.")
    ] = False,
    executor: Annotated[ExecutorName, typer.Option(help="Which executor runs the apps.")] = (
        ExecutorName.REFERENCE
    ),
    as_json: AsJson = False,
) -> None:
    """Run the tests beside the apps, on a virtual clock."""
    log_to_stderr()
    with reported():
        reports = run_paths(paths, executor=executor.value, update=update)
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
    console.print(", ".join(parts))
