"""What people see while Spark works, and what Ctrl-C does then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lockstep.cli.output import errors

INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C has ended, as shells have it."""


class CanBeCalledOff(Protocol):
    """What works elsewhere."""

    def call_off(self) -> None:
        """It stops now."""


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A line on standard error where that is a terminal: tasks done, of how many."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    shown = errors.is_terminal
    with Progress(*columns, console=errors, transient=True, disable=not shown) as line:
        task = line.add_task("Spark's tasks", total=None)
        yield lambda done, known: line.update(task, completed=done, total=known or None)


@contextmanager
def calling_off(what: str = "query") -> Iterator[list[CanBeCalledOff]]:
    """Ctrl-C calls off what is put into the list, says so, and leaves with 130."""
    running: list[CanBeCalledOff] = []
    try:
        yield running
    except KeyboardInterrupt:
        for one in running:
            one.call_off()
        errors.print(f"the {what} is called off")
        raise typer.Exit(INTERRUPTED) from None
