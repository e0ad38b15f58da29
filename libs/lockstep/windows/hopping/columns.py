"""hopping(t, hop) on columns (semantics 7.16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.growing import GrowingArray
from lockstep.columns.order import Order
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.hopping import kernel
from lockstep.windows.timers import TimedBatches


class HoppingWindow(TimedBatches):
    """At each hop the events of the last t are a batch; until they are too old they wait for the
    next."""

    def __init__(self, setup: Setup, length_ms: int, period_ms: int) -> None:
        super().__init__(setup, period_ms)
        self._length_ms = length_ms
        self._later = GrowingArray(np.int64)
        self._uses = GrowingArray(np.int64)

    @property
    def links(self) -> tuple[Longs, Longs]:
        """See Batches: a row may be in both chains."""
        return self._later.values, self._newer.values

    def make_room(self) -> None:
        super().make_room()
        self._later.reserve(len(self.held.times))
        self._uses.reserve(len(self.held.times))

    def flow(self, step: Step) -> Flow:
        chunks, moves = step.chunks, step.moves
        keys, inside, places = self.enter(step)
        self._timers.reserve(len(self._state))
        kind, place, self._free, hops = kernel.hop(
            plain(chunks.starts, np.int64),
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            keys,
            places,
            self.held.times,
            plain(moves.moments, np.int64),
            plain(moves.clock, np.int64),
            moves.before,
            moves.leaps,
            self._length_ms,
            self._period_ms,
            self.setup.wants_expired,
            inside,
            self._state,
            self._timers.heap,
            self._timers.counts,
            self.collecting,
            self.last,
            self._newer.values,
            self._later.values,
            self._uses.values,
        )
        starts, realms, moment, due, clock, firing = np.ascontiguousarray(hops.T)
        offsets = np.append(starts, len(kind))
        order = Order(moment, (due, self.setup.rank, firing, 0))
        return self.left(step, (kind, place, offsets), order, clock, clock, realms)

    # --- state -----------------------------------------------------------------------------------

    def store(self, realm: int) -> Any:
        last, waiting = super().store(realm)
        return (self.boundary(realm), waiting, last)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        next_ms, waiting, last = state
        super().load(realm, (last, waiting), groups)
        # An event that waits and is in the batch as well has two places from now on.
        self._uses.values[self.inside(realm)] = 2
        self._uses.values[self.waiting(realm)] = 1
        self._state[realm] = UNKNOWN if next_ms is None else next_ms, 0


def hopping(call: ColumnarCall, setup: Setup) -> HoppingWindow:
    """See the class."""
    return HoppingWindow(setup, int(call.constant(0)), int(call.constant(1)))
