"""The tumbling `unique:` windows: one event per key and batch (extension pack `unique:`)."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.operators.contract import Emit, PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase
from lockstep.windows.contents import Contents, FirstOfKey, LatestOfKey
from lockstep.windows.external_time_batch.meaning import AttributeBatches
from lockstep.windows.length_batch.meaning import CountedBatches
from lockstep.windows.registry import WindowCall
from lockstep.windows.time_batch.meaning import ClockedBatches, Grid
from lockstep.windows.unique.sliding import key_function


def _latest(call: WindowCall) -> Contents:
    return LatestOfKey(key_function(call, 1))


def _first(call: WindowCall) -> Contents:
    return FirstOfKey(key_function(call, 1))


def _grid(call: WindowCall) -> Grid:
    """Period in the second place, start.time in the third."""
    return Grid(int(call.constant(1)), int(call.constant(2)) if len(call) > 2 else None)


class UniqueCountedBatches(CountedBatches):
    """Findable is what is being collected, not the last batch (the pack's own rule)."""

    def content(self) -> Iterable[StreamEvent]:
        """The open batch."""
        return self._open.held()


class UniqueTimeLengthBatches(ClockedBatches):
    """A batch that is closed by its length is the only one up to the next boundary: what comes
    until then is dropped."""

    _is_full = False

    def _take(self, event: StreamEvent, emit: Emit) -> None:
        if not self._is_full:
            super()._take(event, emit)

    def _close(self, boundary_ms: int, emit: Emit) -> None:
        next_ms = self._grid.next_ms
        self._is_full = next_ms is not None and boundary_ms < next_ms and not self._is_full
        super()._close(boundary_ms, emit)

    def on_timer(self, due_ms: int) -> None:
        """See ClockedBatches."""
        if due_ms == self._grid.next_ms:
            self._is_full = True  # closing ends it
        super().on_timer(due_ms)

    def snapshot(self) -> PlainState:
        """The same, and whether more is dropped."""
        return (*super().snapshot(), self._is_full)

    def restore(self, state: PlainState) -> None:
        *batches, self._is_full = state if len(state) > 3 else (*state, False)
        super().restore(batches)


def unique_length_batch(call: WindowCall) -> WindowBase:
    """Closes when n distinct keys are collected; the latest of each."""
    return UniqueCountedBatches(call, int(call.constant(1)), _latest(call))


def unique_first_length_batch(call: WindowCall) -> WindowBase:
    """Closes when n distinct keys are collected; the first of each."""
    return CountedBatches(call, int(call.constant(1)), _first(call))


def unique_time_batch(call: WindowCall) -> WindowBase:
    """By clock; the latest of each key, stamped with the boundary."""
    return ClockedBatches(call, _grid(call), _latest(call), stamped=True)


def unique_first_time_batch(call: WindowCall) -> WindowBase:
    """By clock; the first of each key."""
    return ClockedBatches(call, _grid(call), _first(call), stamped=True)


def unique_time_length_batch(call: WindowCall) -> WindowBase:
    """By clock or when n distinct keys are collected; the latest of each key. n stands last."""
    has_start = len(call) > 3
    grid = Grid(int(call.constant(1)), int(call.constant(2)) if has_start else None)
    length = int(call.constant(len(call) - 1))
    return UniqueTimeLengthBatches(call, grid, _latest(call), stamped=True, length=length)


def unique_external_time_batch(call: WindowCall) -> WindowBase:
    """As externalTimeBatch, with the latest of each key."""
    return AttributeBatches(call, _latest(call), first=1)
