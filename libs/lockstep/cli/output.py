"""How the command speaks: tables for people, JSON for programs, errors on stderr, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from lockstep.cli.log_lines import harmless
from lockstep.events import Fault, LockstepError

MAX_TABLE_WIDTH: Final = 10_000
"""In characters: where nobody reads along, a row is one line up to this."""


SHOWN_VERSION: Final = 12
"""So many characters of a version's hash tell it from others, for people."""


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


class _Screen(Console):
    """Texts come from apps, events and services: none of them can steer the terminal."""

    def print(self, *objects: Any, **named: Any) -> None:
        """As Rich does, with texts made harmless."""
        super().print(*(harmless(one) if isinstance(one, str) else one for one in objects), **named)


console: Console = _Screen(highlight=False)
errors: Console = _Screen(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on stdout, at once: whoever reads along may wait for it."""
    sys.stdout.write(json.dumps(value, default=str) + "\n")
    sys.stdout.flush()


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str = "",
    folded: Collection[str] | None = None,
) -> None:
    """A table on stdout; an empty one says so.

    Nothing is cut off: people copy names and revisions out of tables. On a narrow terminal the
    `folded` columns go on in the next line (all may, without it) and the others keep their width;
    elsewhere a row is a line.
    """
    if not rows:
        console.print(f"{title or 'result'}: none", markup=False)
        return
    table = Table(title=escape(harmless(title)) or None, title_justify="left", box=SIMPLE_HEAD)
    for name in columns:
        stays = folded is not None and name not in folded
        table.add_column(escape(harmless(name)), no_wrap=stays, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_said(cell)) for cell in row))
    needed = Measurement.get(console, console.options.update(max_width=MAX_TABLE_WIDTH), table)
    usual = console.width
    console.width = max(usual, needed.minimum if console.is_terminal else needed.maximum)
    try:
        with console.capture() as written:
            console.print(table)
    finally:
        console.width = usual
    for line in written.get().rstrip().splitlines():
        console.out(line.rstrip(), highlight=False)


def _said(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return harmless(", ".join(map(str, cell)) if isinstance(cell, list) else str(cell))


def show(
    value: Any,
    columns: Sequence[str],
    *,
    as_json: bool,
    title: str = "",
    folded: Collection[str] = (),
) -> None:
    """A list of mappings as a table of the columns, or everything as JSON."""
    if as_json:
        print_json(value)
        return
    rows = [[item.get(column) for column in columns] for item in value]
    print_table(columns, rows, title=title, folded=folded)


def counted(number: int, what: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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
