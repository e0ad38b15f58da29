"""length(n) on columns (semantics 7.1)."""

from __future__ import annotations

import numpy as np

from lockstep.columns.compiled import plain
from lockstep.columns.flow import CURRENT, EXPIRED, RESET, Flow
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.chained import Chained
from lockstep.windows.contract import ColumnarCall, Setup, Step


class LengthWindow(Chained):
    """The last n events of each realm."""

    def __init__(self, setup: Setup, length: int) -> None:
        super().__init__(setup)
        self._length = length

    def flow(self, step: Step) -> Flow:
        if not step.by_place and step.chunks.keys is None:
            return self._passing_by(step)
        places, starts, keys = self.enter(step)
        now = plain(step.chunks.now, "int64")
        out = sliding.slide_by_length(starts, now, keys, places, self._length, *self.chain())
        return self.made(step, out)

    def _passing_by(self, step: Step) -> Flow:
        """Only what stays behind the slice is held."""
        chunks, old = step.chunks, int(self.count[0])
        came = len(chunks)
        gone = self.oldest(min(old, max(0, old + came - self._length)))
        starts, now = plain(chunks.starts, np.int64), plain(chunks.now, np.int64)
        out = sliding.pass_by_length(starts, now, gone, old, self._length)
        self.let_go(gone)
        self.stay(step, np.arange(max(0, came - self._length), came))
        kind, row, place, time, offsets = out
        order = chunks.order.below(step.place, 0)
        return Flow(
            *(chunks, offsets, order, chunks.now, row, kind, place, time, self.held),
            has_places=False,
        )


class NoLengthWindow(Chained):
    """length(0): each event comes, goes and resets, and none is inside."""

    slides = False
    resets = True

    def flow(self, step: Step) -> Flow:
        chunks = step.chunks
        places = self.held.add(chunks.columns, chunks.times, [step.groups])
        self._left.append(places)
        gone = np.full(len(chunks), -1, np.int64)
        rows = np.arange(len(chunks), dtype=np.int64)
        return Flow(
            chunks,
            plain(chunks.starts, np.int64) * 3,
            chunks.order.below(step.place, 0),
            chunks.now,
            row=np.stack([rows, rows, gone], axis=1).ravel(),
            kind=np.tile(np.array([CURRENT, EXPIRED, RESET], np.int8), len(chunks)),
            place=np.stack([places, places, gone], axis=1).ravel(),
            time=np.repeat(chunks.per_event(chunks.now), 3),
            held=self.held,
            keys=chunks.keys,
        )


def length(call: ColumnarCall, setup: Setup) -> LengthWindow | NoLengthWindow:
    """Of n events; of none where n is 0."""
    most = int(call.constant(0))
    return LengthWindow(setup, most) if most > 0 else NoLengthWindow(setup)
