"""validate: whether apps could be deployed, without a running suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from lockstep.cli.output import Exit, console, errors, print_json, said
from lockstep.events import LockstepError
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
        text = ""
        try:
            text = read_app(file, values)
            plan = plan_of(text)
            rehearse(plan)
        except SiddhiQLError as error:
            reports.append(_wrong(file, error.message, error.hint, error.line, error.column))
            if not as_json:
                show_error(file, text, error)
        except LockstepError as error:  # nowhere in a text: there is none, or its tests are wrong
            reports.append(_wrong(file, said(error), error.hint))
            if not as_json:
                errors.print(str(error), markup=False, soft_wrap=True)
        else:
            reports.append({"file": str(file), "valid": True, "app": plan.name})
            if not as_json:
                console.print(f"{file}: ok ({plan.name})", markup=False, soft_wrap=True)
    if as_json:
        print_json(reports)
    if not all(report["valid"] for report in reports):
        raise typer.Exit(int(Exit.USAGE))


def _wrong(
    file: Path, message: str, hint: str | None, line: int | None = None, column: int | None = None
) -> dict[str, Any]:
    """What a program is told of a mistake."""
    return {
        "file": str(file),
        "valid": False,
        "line": line,
        "column": column,
        "message": message,
        "hint": hint,
    }
