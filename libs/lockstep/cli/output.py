"""How the command speaks: tables for people, JSON for programs, errors on stderr, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from io import TextIOBase
from typing import Any, NoReturn, TextIO, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lockstep.events import Fault, LockstepError
from lockstep.telemetry import configure_logging


class Exit(IntEnum):
    """Exit codes of `lockstep`."""

    OK = 0
    FAILED = 1
    """The thing asked about is not as it should be: a test failed, an answer differs."""
    USAGE = 2
    """The command line, an app text or an event is wrong: mend it, do not repeat it."""
    UNAVAILABLE = 3
    """A service cannot be reached or is not ready: try again."""
    INTERNAL = 4
    """A defect of Lockstep."""


class _StandardError(TextIOBase):
    """Whatever is standard error when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def log_to_stderr() -> None:
    """What apps log (`#log`, dropped events) goes to standard error: standard output is answers."""
    configure_logging(
        service="lockstep", log_format="console", stream=cast(TextIO, _StandardError())
    )


console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, default=str) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> None:
    """A table on stdout; an empty one says so."""
    if not rows:
        console.print(f"{title or 'result'}: none")
        return
    table = Table(*columns, title=title or None, title_justify="left")
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    console.print(table)


def show(value: Any, columns: Sequence[str], *, as_json: bool, title: str = "") -> None:
    """A list of mappings as a table of the columns, or everything as JSON."""
    if as_json:
        print_json(value)
        return
    rows = [[_cell(item, column) for column in columns] for item in value]
    print_table(columns, rows, title=title)


def _cell(item: Mapping[str, Any], column: str) -> Any:
    value = item.get(column)
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def fail(message: str, code: Exit, *, hint: str | None = None) -> NoReturn:
    """Says what is wrong on stderr and leaves with the code."""
    errors.print(f"[red]error:[/red] {escape(message)}", soft_wrap=True)
    if hint:
        errors.print(f"[yellow]hint:[/yellow] {escape(hint)}", soft_wrap=True)
    raise typer.Exit(int(code))


@contextmanager
def reported() -> Iterator[None]:
    """Turns Lockstep's errors into messages and exit codes."""
    try:
        yield
    except LockstepError as error:
        message = error.message if error.where is None else f"{error.where}: {error.message}"
        fail(message, _code_of(error), hint=error.hint)


def _code_of(error: LockstepError) -> Exit:
    if error.fault is Fault.USER:
        return Exit.USAGE
    return Exit.UNAVAILABLE if error.fault is Fault.EXTERNAL else Exit.INTERNAL
