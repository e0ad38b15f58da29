"""Batches on columns: rows are collected and leave together, `[expired][RESET][current]` (semantics
7).

One realm. What was collected before the slice and the slice's events form one sequence; a batch is
a span of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.execute.columnar.flow import CURRENT, EXPIRED, RESET, Flow
from lockstep.execute.columnar.held import HeldRows
from lockstep.execute.columnar.order import Order
from lockstep.execute.columnar.windows.contract import Longs, Setup, Step, columns_of, events_of

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Closings:
    """When batches close: after how many rows of the sequence, where, at which clock (which expired
    rows get as their time)."""

    until: Longs
    order: Order
    now: Longs
    time: Longs


class Batches:
    """See ColumnarWindow. Subclasses say when batches close."""

    slides = False
    in_order = True
    resets = True
    shows_timers = False

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.held: HeldRows = HeldRows(setup.types, setup.pool, extras=1)
        self.open = _NONE
        self.last = _NONE
        self._left: list[Longs] = []

    def closings(self, step: Step, collected: int) -> Closings:
        """When batches close in this slice; `collected` rows were there before it."""
        raise NotImplementedError

    def flow(self, step: Step) -> Flow:
        """See ColumnarWindow."""
        chunks = step.chunks
        collected = len(self.open)
        places = self.held.add(chunks.columns, chunks.times, [step.groups])
        sequence = np.concatenate([self.open, places]) if collected else places
        rows = np.arange(-collected, len(chunks), dtype=np.int64)
        closed = self.closings(step, collected)
        return self._emitted(step, closed, sequence, np.maximum(rows, -1))

    def _emitted(self, step: Step, closed: Closings, sequence: Longs, rows: Longs) -> Flow:
        """A chunk per closing."""
        count = len(closed.until)
        starts = np.append(0, closed.until)
        previous = self._previous(starts, sequence)
        parts = _Parts(step, closed, sequence, rows, starts)
        flow = parts.flow(self.held, previous if self.setup.wants_expired else None)
        if count:
            self._left.append(self.last)
            self._left.append(sequence[: starts[count - 1]])
            self.last = sequence[starts[count - 1] : starts[count]].copy()
        self.open = sequence[starts[count] :].copy()
        return flow

    def _previous(self, starts: Longs, sequence: Longs) -> tuple[Longs, Longs]:
        """(places that expire, their number per closing)."""
        count = len(starts) - 1
        if not count:
            return _NONE, _NONE
        lengths = np.diff(starts)
        gone = np.concatenate([self.last, sequence[: starts[count - 1]]])
        return gone, np.append(len(self.last), lengths[:-1])

    def settle(self) -> None:
        """See ColumnarWindow."""
        for places in self._left:
            self.held.places.give_back(places)
        self._left.clear()

    def due_ms(self) -> int | None:
        """See ColumnarWindow."""
        return next(iter(self.timers(0)), None)

    # --- state -----------------------------------------------------------------------------------

    def inside(self, realm: int) -> Longs:
        """See ColumnarWindow: aggregates hold the last batch."""
        return self.last

    def keeps(self, realm: int) -> Longs:
        """See ColumnarWindow."""
        return np.concatenate([self.last, self.open])

    def store(self, realm: int) -> Any:
        """See ColumnarWindow."""
        return (events_of(self.held, self.last), events_of(self.held, self.open))

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        """See ColumnarWindow."""
        last, collected = state
        self.last = self._loaded(last, groups)
        self.open = self._loaded(collected, groups)

    def _loaded(self, events: Any, groups: Callable[..., Any]) -> Longs:
        times, columns = columns_of(events, self.setup.types)
        return self.held.add(columns, times, [groups(columns, times, 0)])

    def timers(self, realm: int) -> list[int]:
        """See ColumnarWindow."""
        return []


@dataclass(frozen=True, eq=False)
class _Parts:
    """The batches of a slice on the way into a flow."""

    step: Step
    closed: Closings
    sequence: Longs
    rows: Longs
    starts: Longs

    def flow(self, held: HeldRows, previous: tuple[Longs, Longs] | None) -> Flow:
        """`[expired][RESET][current]` for each closing; without `previous` `[RESET][current]`."""
        count = len(self.closed.until)
        current = np.diff(self.starts)
        gone, expired = (_NONE, np.zeros(count, np.int64)) if previous is None else previous
        lengths = expired + 1 + current
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        total = int(offsets[-1])
        kind = np.full(total, CURRENT, np.int8)
        marks = offsets[:-1] + expired
        kind[marks] = RESET
        at_current = _positions(marks + 1, current)
        at_expired = _positions(offsets[:-1], expired)
        kind[at_expired] = EXPIRED
        taken = int(self.starts[-1])
        row = np.full(total, -1, np.int64)
        place = np.zeros(total, np.int64)
        row[at_current] = self.rows[:taken]
        place[at_current] = self.sequence[:taken]
        place[at_expired] = gone
        time = np.repeat(self.closed.time, lengths)
        closed = self.closed
        chunks = self.step.chunks
        return Flow(chunks, offsets, closed.order, closed.now, row, kind, place, time, held)


def _positions(starts: Longs, lengths: Longs) -> Longs:
    """start, start + 1, … for each start, as many as its length."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    index = np.arange(offsets[-1], dtype=np.int64)
    index += np.repeat(starts - offsets[:-1], lengths)
    return index
