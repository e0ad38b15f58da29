"""lengthBatch(n [, stream.current.event]) on columns (semantics 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.windows import batching_kernel as batching
from lockstep.windows.batches import Batches, Closings, PassingBatches
from lockstep.windows.contract import ColumnarCall, ColumnarWindow, Setup, Step
from lockstep.windows.length_batch import kernel


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


class PassingLengthBatch(PassingBatches):
    """Events pass at once, and the one behind a full batch expires it. With a length of 0 each
    leaves at once, too."""

    def __init__(self, setup: Setup, length: int) -> None:
        super().__init__(setup)
        self._length = length

    def flow(self, step: Step) -> Flow:
        chunks = step.chunks
        keys, inside, places = self.enter(step)
        lines, offsets, self._free = kernel.pass_by_length(
            plain(chunks.starts, np.int64),
            plain(chunks.now, np.int64),
            keys,
            places,
            self._length,
            self.setup.wants_expired,
            inside,
            self.collecting,
            self._newer.values,
        )
        order = chunks.order.below(step.place, 0)
        return self.passed(step, lines, offsets, order, chunks.now, keys)

    def store(self, realm: int) -> Any:
        return self.store_collected(realm) if self._length else None

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        self.load_collected(realm, state or (), groups)


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


def length_batch(call: ColumnarCall, setup: Setup) -> ColumnarWindow:
    """The form that the arguments ask for."""
    length = int(call.constant(0))
    if length == 0 or (len(call) > 1 and call.constant(1)):
        return PassingLengthBatch(setup, length)
    return LengthBatchWindow(setup, length)
