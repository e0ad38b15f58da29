"""lengthBatch(n) on columns (semantics 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.rule import NotLowerable
from lockstep.windows import batching_kernel as batching
from lockstep.windows.batches import Batches, Closings
from lockstep.windows.contract import ColumnarCall, Setup, Step


class LengthBatchWindow(Batches):
    """A batch closes with its nth event."""

    def __init__(self, setup: Setup, length: int) -> None:
        super().__init__(setup)
        self._length = length
        self._collected = np.zeros(0, np.int64)

    def reserve(self, realms: int) -> None:
        super().reserve(realms)
        self._collected = grown(self._collected, realms)

    def closings(self, step: Step, keys: Longs) -> Closings:
        of_event = plain(step.chunks.per_event(keys), np.int64)
        events, realms = batching.close_by_length(of_event, self._length, self._collected)
        return closed_in(step, events, realms, at=events + 1)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        super().load(realm, state, groups)
        self._collected[realm] = self.collecting[realm, 2]


def closed_in(
    step: Step, events: Longs, realms: Longs, *, at: Longs, time: Longs | None = None
) -> Closings:
    """Closings that certain events of the slice cause; see Closings."""
    chunks = step.chunks
    chunk = chunks.chunk_of[events]
    now = chunks.now[chunk]
    # Several closings of one chunk stand in order.
    order = chunks.order.take(chunk).below(step.place, np.arange(len(events), dtype=np.int64))
    return Closings(at, realms, order, now, now if time is None else time)


def length_batch(call: ColumnarCall, setup: Setup) -> LengthBatchWindow:
    """NotLowerable for the streaming form and for batches of nothing."""
    length = int(call.constant(0))
    if length <= 0 or len(call) > 1:
        raise NotLowerable("lengthBatch(0) or stream.current.event")
    return LengthBatchWindow(setup, length)
