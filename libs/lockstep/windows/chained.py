"""Held rows chained by realm in order of arrival: what the sliding windows share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Column, Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.growing import GrowingArray
from lockstep.columns.held import HeldRows
from lockstep.columns.stored import events_of, parts_of
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.contract import Setup, Step


class Chained:
    """See ColumnarWindow. Subclasses say what leaves."""

    slides = True
    in_order = True
    resets = False
    shows_timers = False
    hears_timers = False

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.held: HeldRows = HeldRows(setup.types, setup.pool, extras=1)
        self.head = np.full(1, -1, np.int64)
        self.tail = np.full(1, -1, np.int64)
        self.count = np.zeros(1, np.int64)
        self._newer = GrowingArray(np.int64)
        self._left: list[Longs] = []

    @property
    def newer(self) -> Longs:
        """The next place of the chain by place, where a row is held."""
        return self._newer.values

    # --- folding ---------------------------------------------------------------------------------

    def enter(self, step: Step) -> tuple[Longs, Longs, Longs]:
        """(places, offsets, realm of each chunk) of the slice's events, which are held from now
        on."""
        chunks = step.chunks
        places = self.held.add(chunks.columns, chunks.times, [step.groups])
        self._newer.reserve(len(self.held.times))
        keys = np.zeros(chunks.count, np.int64) if chunks.keys is None else chunks.keys
        if len(keys):
            self._reserve(int(keys.max()) + 1)
        return places, plain(chunks.starts, np.int64), plain(keys, np.int64)

    def _reserve(self, realms: int) -> None:
        self.head = grown(self.head, realms, -1)
        self.tail = grown(self.tail, realms, -1)
        self.count = grown(self.count, realms)

    def chain(self) -> tuple[Any, ...]:
        """The arrays that kernels change."""
        return self.head, self.tail, self.count, self.newer

    def made(self, step: Step, kernel_out: Any) -> Flow:
        """The flow of a kernel that emits one chunk per chunk."""
        kind, row, place, time, offsets = kernel_out
        self._left.append(place[kind == 1])
        chunks = step.chunks
        order = chunks.order.below(step.place, 0)
        return Flow(
            chunks, offsets, order, chunks.now, row, kind, place, time, self.held, chunks.keys
        )

    def oldest(self, count: int) -> Longs:
        """The places of so many rows outside of partitions, the oldest first."""
        found: Longs = sliding.follow(self.head[0], self.newer, count)
        return found

    def let_go(self, places: Longs) -> None:
        """Those of `oldest` leave."""
        if not len(places):
            return
        self._left.append(places)
        self.count[0] -= len(places)
        self.head[0] = self.newer[places[-1]]
        if not self.count[0]:
            self.tail[0] = -1

    def stay(self, step: Step, rows: Longs) -> None:
        """Some rows of the slice are held from now on."""
        if len(rows):
            columns = [column.take(rows) for column in step.chunks.columns]
            self._append(0, step.chunks.times[rows], columns, step.groups[rows])

    def settle(self) -> None:
        for places in self._left:
            self.held.places.give_back(places)
        self._left.clear()

    def due_ms(self) -> int | None:
        return None

    # --- state -----------------------------------------------------------------------------------

    def inside(self, realm: int) -> Longs:
        if realm >= len(self.head):
            return np.zeros(0, np.int64)
        found: Longs = sliding.follow(self.head[realm], self.newer, self.count[realm])
        return found

    def keeps(self, realm: int) -> Longs:
        return self.inside(realm)

    def store(self, realm: int) -> Any:
        return events_of(self.held, self.inside(realm))

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        self._reserve(realm + 1)
        for times, columns in parts_of(state, self.setup.types):
            if len(times):
                self._append(realm, times, columns, groups(columns, times, realm))

    def _append(self, realm: int, times: Longs, columns: Sequence[Column], group: Longs) -> None:
        places = self.held.add(columns, times, [group])
        self._newer.reserve(len(self.held.times))
        self.newer[places[:-1]] = places[1:]
        self.newer[places[-1]] = -1
        if self.count[realm]:
            self.newer[self.tail[realm]] = places[0]
        else:
            self.head[realm] = places[0]
        self.tail[realm] = places[-1]
        self.count[realm] += len(places)

    def timers(self, realm: int) -> list[tuple[int, int]]:
        return []
