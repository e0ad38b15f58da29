"""How the command speaks: tables for people, JSON for programs, errors on stderr, exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
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

SHOWN_TEXT: Final = 40
"""So many characters of a text that is refused are shown."""


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


def said(error: LockstepError) -> str:
    """What is wrong, and where; not the hint."""
    return error.message if error.where is None else f"{error.where}: {error.message}"


@contextmanager
def reported() -> Iterator[None]:
    """Turns Lockstep's errors, and those of files, into messages and exit codes.

    Python's development mode (`PYTHONDEVMODE=1`) keeps the traceback of what a file failed of.
    """
    try:
        yield
    except LockstepError as error:
        fail(said(error), _code_of(error), hint=error.hint)
    except UnicodeEncodeError as error:
        if sys.flags.dev_mode or not "\ud800" <= error.object[error.start] <= "\udfff":
            raise
        fail(f"{error.object[:SHOWN_TEXT]!a} is no text in UTF-8", Exit.USAGE)
    except OSError as error:
        if sys.flags.dev_mode or error.errno == errno.EPIPE:  # who read along has gone: no error
            raise
        file = "standard output" if _is_output_lost() else error.filename
        why = error.strerror or str(error) or type(error).__name__
        is_away = isinstance(error, ConnectionError | TimeoutError)
        code = Exit.UNAVAILABLE if is_away else Exit.USAGE
        fail(why if file is None else f"{file}: {why}", code)


def _is_output_lost() -> bool:
    """Whether standard output takes nothing any more. What waits is given up then: Python would
    try again when the process ends, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def take_all_characters() -> None:
    """One that the terminal's encoding lacks is written as `\\u2581`, and ends no command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _code_of(error: LockstepError) -> Exit:
    if error.fault is Fault.USER:
        return Exit.USAGE
    return Exit.UNAVAILABLE if error.fault is Fault.EXTERNAL else Exit.INTERNAL
