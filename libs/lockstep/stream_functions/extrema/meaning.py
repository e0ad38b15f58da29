"""`#extrema:topK` and `#extrema:bottomK`: the most and the least frequent values of an attribute,
appended to the latest event.

A list is told when one of its places holds something new. What was told before leaves first,
and a RESET stands between the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import CURRENT, EXPIRED, RESET, PlainState, StreamEvent
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory
from lockstep.stream_functions.extrema.frequencies import Frequencies


class Ranking(Buffering):
    """The base: counts, and tells lists. Subclasses say when a list is made."""

    brings_expired = True

    def __init__(self, call: StreamCall, *, most: bool) -> None:
        super().__init__(call)
        self._most = most
        self._value_of = call.values[0]
        self._places = int(call.constant(len(call.arguments) - 1))
        self.counts = Frequencies()
        self.latest: StreamEvent | None = None
        self.told: StreamEvent | None = None
        self._listed: tuple[Any, ...] = ()

    def count(self, event: StreamEvent, by: int = 1) -> None:
        """The event's value is there once more, or once less; what came is the latest event."""
        self.counts.change(self._value_of(event), by)
        if by > 0:
            self.latest = event

    def tell(self) -> list[StreamEvent]:
        """What leaves, and the list if it has something new."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        if self.told is not None:
            out += (self.told.as_kind(EXPIRED, now), StreamEvent(now, (), RESET))
            self.told = None
        listed = self.counts.listed(self._places, most=self._most)
        if listed != self._listed[: len(listed)] and self.latest is not None:
            self._listed = listed + (None,) * (2 * self._places - len(listed))
            self.told = StreamEvent(self.latest.timestamp_ms, self.latest.data + self._listed)
            out.append(self.told)
        return out

    def snapshot(self) -> PlainState:
        """The frequencies, the latest event, what was told and did not leave, the last list."""
        return (self.counts.snapshot(), self.latest, self.told, self._listed)

    def restore(self, state: PlainState) -> None:
        counts, self.latest, self.told, listed = state
        self.counts.restore(counts)
        self._listed = tuple(listed)


class Running(Ranking):
    """A list with every chunk, of what the window in front holds; without one, of all events."""

    def process(self, chunk: list[StreamEvent]) -> None:
        for event in chunk:
            if event.kind <= EXPIRED:
                self.count(event, 1 if event.kind == CURRENT else -1)
            elif event.kind == RESET:
                self.counts.clear()
        out = self.tell()
        if out:
            self.emit(out)


class Counted(Ranking):
    """A list of each n events."""

    def __init__(self, call: StreamCall, *, most: bool) -> None:
        super().__init__(call, most=most)
        self._length = int(call.constant(1))
        self._counted = 0

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind != CURRENT:
                continue
            self.count(event)
            self._counted += 1
            if self._counted == self._length:
                out += self.tell()
                self.counts.clear()
                self._counted = 0
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The same, and how many events were counted."""
        return (super().snapshot(), self._counted)

    def restore(self, state: PlainState) -> None:
        ranking, self._counted = state
        super().restore(ranking)


class Clocked(Ranking):
    """A list of each period. The first begins with the first event; what comes at a boundary
    belongs to the next one. Timers run while there is something to tell, or to take back."""

    def __init__(self, call: StreamCall, *, most: bool) -> None:
        super().__init__(call, most=most)
        self._period_ms = int(call.constant(1))
        self._next_ms: int | None = None

    def process(self, chunk: list[StreamEvent]) -> None:
        if not len(self.counts) and self.told is None:
            self._next_ms = self._boundary(self.context.now_ms())
            self.context.schedule(self, self._next_ms)
        for event in chunk:
            if event.kind == CURRENT:
                self.count(event)

    def _boundary(self, now: int) -> int:
        """The first one behind `now`."""
        if self._next_ms is None:
            return now + self._period_ms
        passed = max(0, (now - self._next_ms) // self._period_ms + 1)
        return self._next_ms + passed * self._period_ms

    def on_timer(self, due_ms: int) -> None:
        """Tells the list of the period that ends; a timer of before the boundary moved on is
        nobody's."""
        if due_ms != self._next_ms:
            return
        self._next_ms = due_ms + self._period_ms
        out = self.tell()
        self.counts.clear()
        if self.told is not None:
            self.context.schedule(self, self._next_ms)
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The same, and the next boundary."""
        return (super().snapshot(), self._next_ms)

    def restore(self, state: PlainState) -> None:
        ranking, self._next_ms = state
        super().restore(ranking)


def _made(kind: Callable[..., Ranking], *, most: bool) -> StreamFunctionFactory:
    return lambda call: kind(call, most=most)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("extrema", f"{prefix}K{suffix}"): _made(kind, most=prefix == "top")
    for prefix in ("top", "bottom")
    for suffix, kind in (("", Running), ("LengthBatch", Counted), ("TimeBatch", Clocked))
}
