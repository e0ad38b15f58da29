"""length(n) on columns (semantics 7.1)."""

from __future__ import annotations

from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.rule import NotLowerable
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.chained import Chained
from lockstep.windows.contract import ColumnarCall, Setup, Step


class LengthWindow(Chained):
    """The last n events of each realm."""

    def __init__(self, setup: Setup, length: int) -> None:
        super().__init__(setup)
        self._length = length

    def flow(self, step: Step) -> Flow:
        places, starts, keys = self.enter(step)
        now = plain(step.chunks.now, "int64")
        out = sliding.slide_by_length(starts, now, keys, places, self._length, *self.chain())
        return self.made(step, out)


def length(call: ColumnarCall, setup: Setup) -> LengthWindow:
    """NotLowerable where a RESET stands behind each event."""
    most = int(call.constant(0))
    if most <= 0:
        raise NotLowerable("length(0)")
    return LengthWindow(setup, most)
