"""format: app texts laid out in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.commands.app_text import text_of
from lockstep.cli.output import console
from lockstep.editing import formatted
from lockstep.testing.scenario import split_tests

Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help=".siddhi files.")]


def format_apps(
    files: Files,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 1 when a file would change.")
    ] = False,
) -> None:
    """Lay app texts out: spaces and line breaks, never a word."""
    changed = 0
    for file in files:
        text = text_of(file, newline="")
        laid_out = _laid_out(text)
        if laid_out == text:
            continue
        changed += 1
        console.print(f"{file}: {'would change' if check else 'formatted'}", soft_wrap=True)
        if not check:
            file.write_text(laid_out, encoding="utf-8", newline="")
    if check and changed:
        raise typer.Exit(1)


def _laid_out(text: str) -> str:
    """Tests behind an app stay as they are."""
    app, tests = split_tests(text)
    laid_out = formatted(app)
    if not tests or not laid_out:
        return laid_out + tests
    return laid_out + ("\r\n" if laid_out.endswith("\r\n") else "\n") + tests
