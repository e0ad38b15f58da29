"""`output [all|first|last] every t` (semantics 14.2). `all` and `last` run on the wall clock."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from lockstep.operators.contract import Context, PlainState
from lockstep.rates.limiter import RateBase, loaded, saved
from lockstep.selection.meaning import Row


class PeriodicRate(RateBase):
    """A limiter with a timer of period `every` from the start of the query."""

    def start(self) -> None:
        """Sets the first timer."""
        self.context.schedule(self, self.context.wall_ms() + self.every, wall=True)

    def on_timer(self, due_ms: int) -> None:
        """Emits what the period brought and sets the next timer."""
        self.context.schedule(self, due_ms + self.every, wall=True)
        self.tick()

    def tick(self) -> None:
        """One period is over."""
        raise NotImplementedError


class AllByTime(PeriodicRate):
    """All rows of a period together."""

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._collected: list[Row] = []

    def process(self, chunk: list[Row]) -> None:
        """Collects."""
        self._collected += chunk

    def tick(self) -> None:
        """Emits what came, if anything."""
        if self._collected:
            out, self._collected = self._collected, []
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The waiting rows."""
        return [saved(row) for row in self._collected]

    def restore(self, state: PlainState) -> None:
        self._collected = [loaded(row) for row in state]


class LastByTime(PeriodicRate):
    """The last row of a period, per group."""

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._last: dict[Any, Row] = {}

    def process(self, chunk: list[Row]) -> None:
        """Keeps the last per group."""
        for row in chunk:
            self._last[row.key] = row

    def tick(self) -> None:
        """Emits the last rows, if any."""
        if self._last:
            out, self._last = list(self._last.values()), {}
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The last rows in order of their groups."""
        return [saved(row) for row in self._last.values()]

    def restore(self, state: PlainState) -> None:
        self._last = {row.key: row for row in map(loaded, state)}


class FirstByTime(RateBase):
    """A row passes if none of its group passed in the `every` before it, by the app clock; no
    timer. A group whose time was over when another one passed is as good as new.
    """

    def __init__(self, every: int, context: Context) -> None:
        super().__init__(every, context)
        self._passed_ms: OrderedDict[Any, int] = OrderedDict()

    def process(self, chunk: list[Row]) -> None:
        """Rows far enough behind the last that passed."""
        now = self.context.now_ms()
        out = []
        for row in chunk:
            last = self._passed_ms.get(row.key)
            if last is None or now - last >= self.every:
                self._passed_ms[row.key] = now
                self._passed_ms.move_to_end(row.key)
                out.append(row)
        if out:
            while now - next(iter(self._passed_ms.values())) >= self.every:
                self._passed_ms.popitem(last=False)
            self.emit(out)

    def snapshot(self) -> PlainState:
        """When the last row passed, by group, in that order."""
        return list(self._passed_ms.items())

    def restore(self, state: PlainState) -> None:
        self._passed_ms = OrderedDict(sorted(state, key=lambda passed: passed[1]))
