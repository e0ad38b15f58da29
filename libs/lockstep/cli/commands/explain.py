"""explain: the plan of an app, and what runs it."""

from __future__ import annotations

from typing import Annotated

import typer

from lockstep.cli.commands.app_text import (
    Given,
    GivenFiles,
    GivenIn,
    OneFile,
    read_app,
    show_error,
    values_of,
)
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, print_json, reported
from lockstep.embedded import prepare_spark_environment
from lockstep.execute.explain import explain_execution
from lockstep.execute.spark import SparkOptions, close_slices, open_slices, spark_plan
from lockstep.fleet import check_units
from lockstep.plan import plan_of
from lockstep.plan.fleet import explain_fleet, fleet_as_json, fleet_of
from lockstep.siddhiql import SiddhiQLError


def explain(
    file: OneFile,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark and add its own plan of a slice's job.")
    ] = False,
    parallel: Annotated[
        int | None,
        typer.Option(
            "--parallel",
            help="Show the groups that it would run as in so many partitions, and what stays whole"
            " and why. By default what the app asks for.",
        ),
    ] = None,
    given: Given = None,
    given_in: GivenIn = None,
    given_files: GivenFiles = None,
    as_json: AsJson = False,
) -> None:
    """Show the plan of an app and what runs each query: columns, or the reference and why."""
    text = read_app(file, values_of(given, given_in, given_files))
    try:
        plan = plan_of(text)
        explained = explain_execution(plan)
        fleet = fleet_of(plan, parallel)
        check_units(fleet)
    except SiddhiQLError as error:
        show_error(file, text, error)
        raise typer.Exit(int(Exit.USAGE)) from None
    with reported():
        job = _spark_plan() if spark else None
    if as_json:
        print_json(explained.as_json() | {"spark_plan": job, "fleet": fleet_as_json(fleet)})
        return
    console.print(explained.text(), markup=False, soft_wrap=True)
    if parallel is not None or not fleet.is_single:
        console.print(explain_fleet(fleet), markup=False, soft_wrap=True)
    if job is not None:
        console.print("Spark's plan of a slice's job:", soft_wrap=True)
        console.print(job, markup=False, soft_wrap=True)


def _spark_plan() -> str:
    prepare_spark_environment()
    try:
        return spark_plan(open_slices(SparkOptions(master="local[1]")))
    finally:
        close_slices()
