"""`#unique:deduplicate(key, t)`: passes an event unless its key passed within the last t ms."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory


class Deduplicate(Buffering):
    """A gap of exactly t is still a duplicate; what is dropped does not prolong the period."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._key_of = call.values[0]
        self._interval_ms = int(call.constant(1))
        self._passed: dict[Any, int] = {}

    def process(self, chunk: list[StreamEvent]) -> None:
        out = [event for event in chunk if event.kind > EXPIRED or self._passes(event)]
        if out:
            self.emit(out)

    def _passes(self, event: StreamEvent) -> bool:
        key = self._key_of(event)
        if key is None:
            raise EventError("unique:deduplicate takes no null key")
        self._forget(event.timestamp_ms)
        if key in self._passed:
            return False
        self._passed[key] = event.timestamp_ms
        return True

    def _forget(self, now_ms: int) -> None:
        """Keys stand in the order in which they passed: the oldest go first."""
        while self._passed:
            oldest = next(iter(self._passed))
            if now_ms - self._passed[oldest] <= self._interval_ms:
                return
            del self._passed[oldest]

    def snapshot(self) -> PlainState:
        """When each remembered key passed, oldest first."""
        return list(self._passed.items())

    def restore(self, state: PlainState) -> None:
        self._passed = dict(state)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("unique", "deduplicate"): Deduplicate
}
