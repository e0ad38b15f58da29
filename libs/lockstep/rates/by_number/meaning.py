"""`output [all|first|last] every N events` (semantics 14.1)."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import Context, PlainState
from lockstep.rates.limiter import RateBase, loaded, saved
from lockstep.selection.meaning import Row


class AllByNumber(RateBase):
    """Collects N rows and emits them together."""

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._collected: list[Row] = []

    def process(self, chunk: list[Row]) -> None:
        """Whole groups of N leave; the rest waits."""
        self._collected += chunk
        whole = len(self._collected) // self.every * self.every
        if whole:
            out, self._collected = self._collected[:whole], self._collected[whole:]
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The waiting rows."""
        return [saved(row) for row in self._collected]

    def restore(self, state: PlainState) -> None:
        self._collected = [loaded(row) for row in state]


class FirstByNumber(RateBase):
    """The 1st, (N+1)th, … row, counted per group. A group with N rows is as good as new.

    Under @app:compat('siddhi-5.1') `first every 1 events` emits once and then never.
    """

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._counts: dict[Any, int] = {}
        self._sticks = every == 1 and context.is_siddhi_5_1

    def process(self, chunk: list[Row]) -> None:
        """Rows that open a group of N pass."""
        out = []
        for row in chunk:
            count = self._counts.get(row.key, 0)
            if count == 0:
                out.append(row)
            count = 1 if self._sticks else (count + 1) % self.every
            if count:
                self._counts[row.key] = count
            else:
                self._counts.pop(row.key, None)
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """Rows seen since the last that passed, by group, in that order."""
        return list(self._counts.items())

    def restore(self, state: PlainState) -> None:
        self._counts = {key: count for key, count in state if count}


class LastByNumber(RateBase):
    """After every N rows the last one; with group by the last of each group seen in them."""

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._count = 0
        self._last: dict[Any, Row] = {}

    def process(self, chunk: list[Row]) -> None:
        """Counts all rows, keeps the last per group."""
        out: list[Row] = []
        for row in chunk:
            self._last[row.key] = row
            self._count += 1
            if self._count == self.every:
                out += self._last.values()
                self._last = {}
                self._count = 0
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The count and the last rows in order of their groups."""
        return (self._count, [saved(row) for row in self._last.values()])

    def restore(self, state: PlainState) -> None:
        self._count, rows = state
        self._last = {row.key: row for row in map(loaded, rows)}
