"""validate: whether apps could be deployed, without a running suite."""

from __future__ import annotations

import typer

from lockstep.cli.commands.app_text import (
    Files,
    Given,
    GivenFiles,
    GivenIn,
    read_app,
    show_error,
    values_of,
)
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, print_json
from lockstep.execute.reference.rehearsal import rehearse
from lockstep.plan import plan_of
from lockstep.siddhiql import SiddhiQLError


def validate(
    files: Files,
    given: Given = None,
    given_in: GivenIn = None,
    given_files: GivenFiles = None,
    as_json: AsJson = False,
) -> None:
    """Check app texts; a mistake is shown with its line, column, what is wrong and a hint."""
    reports = []
    values = values_of(given, given_in, given_files)
    for file in files:
        text = read_app(file, values)
        try:
            plan = plan_of(text)
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
