"""extrema:maxByLengthBatch, minByLengthBatch, maxByTimeBatch, minByTimeBatch (extensions 18)."""

from __future__ import annotations

from functools import partial

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import BatchingWindow, WindowBase
from lockstep.windows.contents import EveryEvent
from lockstep.windows.extrema.extreme import MAX, MIN, Beats, values_of
from lockstep.windows.length_batch.meaning import CountedBatches
from lockstep.windows.registry import WindowCall
from lockstep.windows.time_batch.meaning import ClockedBatches, Grid


class Extreme(EveryEvent):
    """One event: that which counts most, among equals the latest. It counts what it is given."""

    def __init__(self, position: int, beats: Beats) -> None:
        super().__init__()
        self._position = position
        self._beats = beats
        self.count = 0

    def put(self, event: StreamEvent, key: None) -> None:
        self.count += 1
        position = self._position
        if not self._events or not self._beats(
            self._events[0].data[position], event.data[position]
        ):
            self._events[:] = (event,)

    def take(self) -> list[StreamEvent]:
        self.count = 0
        return super().take()

    def __len__(self) -> int:
        return self.count


class _Refusing(BatchingWindow):
    """A batching window that refuses a chunk with a null before it takes any of it, and whose
    state has the count of the open batch, too."""

    def __init__(self, call: WindowCall, extreme: Extreme) -> None:
        self._values = values_of(call)
        self._extreme = extreme

    def process(self, chunk: list[StreamEvent]) -> None:
        self._values(chunk)
        super().process(chunk)

    def snapshot(self) -> PlainState:
        """What the batches say, and the count."""
        return (super().snapshot(), self._extreme.count)

    def restore(self, state: PlainState) -> None:
        batches, self._extreme.count = state
        super().restore(batches)


class ExtremeOfLength(_Refusing, CountedBatches):
    """Of each n events the one that counts most."""

    def __init__(self, call: WindowCall, extreme: Extreme) -> None:
        _Refusing.__init__(self, call, extreme)
        CountedBatches.__init__(self, call, int(call.constant(1)), extreme)


class ExtremeOfTime(_Refusing, ClockedBatches):
    """Of each period the one that counts most."""

    def __init__(self, call: WindowCall, extreme: Extreme) -> None:
        _Refusing.__init__(self, call, extreme)
        grid = Grid(int(call.constant(1)), int(call.constant(2)) if len(call) > 2 else None)
        ClockedBatches.__init__(self, call, grid, extreme)


def _length_batch(call: WindowCall, *, beats: Beats) -> WindowBase:
    return ExtremeOfLength(call, Extreme(call.attribute(0), beats))


def _time_batch(call: WindowCall, *, beats: Beats) -> WindowBase:
    return ExtremeOfTime(call, Extreme(call.attribute(0), beats))


by_length_batch_of_max = partial(_length_batch, beats=MAX)
by_length_batch_of_min = partial(_length_batch, beats=MIN)
by_time_batch_of_max = partial(_time_batch, beats=MAX)
by_time_batch_of_min = partial(_time_batch, beats=MIN)
