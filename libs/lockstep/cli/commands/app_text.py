"""What the commands that take an app's text share: reading it, and pointing at a mistake in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.output import Exit, errors, fail
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing.scenario import app_of

Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help=".siddhi files.")]
OneFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .siddhi file.")]


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
