"""What the limiters share: where they emit to, and how rows become state."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import Context, Emit, PlainState, nowhere
from lockstep.selection.meaning import Row


class RateBase:
    """A limiter. `every` counts rows or milliseconds."""

    def __init__(self, every: int, context: Context) -> None:
        self.every = every
        self.context = context
        self.emit: Emit = nowhere

    def start(self) -> None:
        """Called when the app starts; limiters with a period set their timer."""

    def process(self, chunk: list[Row]) -> None:
        """Takes the selector's rows."""
        raise NotImplementedError


def saved(row: Row) -> PlainState:
    """A row as plain state; its origin is not needed any more."""
    return (row.timestamp_ms, row.data, row.kind, row.key)


def loaded(state: Any) -> Row:
    """The row of `saved`."""
    timestamp_ms, data, kind, key = state
    return Row(timestamp_ms, data, kind, key, None)
