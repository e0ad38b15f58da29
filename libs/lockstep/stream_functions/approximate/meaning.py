"""`#approximate:`: counts by sketches, appended to each event with their bounds."""

from __future__ import annotations

from typing import Protocol

from lockstep.operators.contract import CURRENT, EXPIRED, RESET, PlainState, StreamEvent
from lockstep.stream_functions.approximate.sketches import CountMin, Distinct, DistinctEver
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory


class _Sketch(Protocol):
    """See `sketches`."""

    def change(self, value: object, by: int) -> None: ...

    def told(self, value: object) -> tuple[int, int, int]: ...

    def clear(self) -> None: ...

    def snapshot(self) -> PlainState: ...

    def restore(self, state: PlainState) -> None: ...


class Sketched(Buffering):
    """What comes counts, what leaves counts no more. A null is dropped, and counts nowhere."""

    def __init__(self, call: StreamCall, sketch: _Sketch) -> None:
        super().__init__(call)
        self._value_of = call.values[0]
        self._sketch = sketch

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                if event.kind == RESET:
                    self._sketch.clear()
                out.append(event)
                continue
            value = self._value_of(event)
            if value is None:
                continue
            self._sketch.change(value, 1 if event.kind == CURRENT else -1)
            data = (*event.data, *self._sketch.told(value))
            out.append(StreamEvent(event.timestamp_ms, data, event.kind))
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The sketch's."""
        return self._sketch.snapshot()

    def restore(self, state: PlainState) -> None:
        self._sketch.restore(state)


def _count(call: StreamCall) -> Sketched:
    return Sketched(call, CountMin(float(call.constant(1, 0.01)), float(call.constant(2, 0.99))))


def _distinct(call: StreamCall) -> Sketched:
    return Sketched(call, Distinct(float(call.constant(1, 0.01)), float(call.constant(2, 0.95))))


def _distinct_ever(call: StreamCall) -> Sketched:
    sketch = DistinctEver(float(call.constant(1, 0.01)), float(call.constant(2, 0.95)))
    return Sketched(call, sketch)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("approximate", "count"): _count,
    ("approximate", "distinctCount"): _distinct,
    ("approximate", "distinctCountEver"): _distinct_ever,
}
