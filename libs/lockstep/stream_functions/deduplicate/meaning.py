"""`#unique:deduplicate(key, t)`: passes an event unless its key passed within the last t ms."""

from __future__ import annotations

import heapq
from typing import Any, Final

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory

_STALE_MAX: Final = 1_000
"""Entries of a heap whose key has passed again since, beside as many as there are keys."""


class Deduplicate(Buffering):
    """A gap of exactly t is still a duplicate; what is dropped does not prolong the period.

    Timestamps may fall. A gap is one in either direction, so an event whose timestamp is far ahead
    holds up no event after it, of its own key or of another.
    """

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._key_of = call.values[0]
        self._interval_ms = int(call.constant(1))
        self._passed: dict[Any, int] = {}
        self._oldest: list[tuple[int, Any]] = []  # a heap, for forgetting

    def process(self, chunk: list[StreamEvent]) -> None:
        # All keys first: if one fails, the chunk is dropped, and none of it has passed.
        keys = [None if event.kind > EXPIRED else self._key(event) for event in chunk]
        out = [
            event
            for event, key in zip(chunk, keys, strict=True)
            if key is None or self._passes(event.timestamp_ms, key)
        ]
        if out:
            self.emit(out)

    def _key(self, event: StreamEvent) -> Any:
        key = java.key(self._key_of(event))
        if key is None:
            raise EventError("unique:deduplicate takes no null key")
        return key

    def _passes(self, now_ms: int, key: Any) -> bool:
        self._forget(now_ms)
        passed_ms = self._passed.get(key)
        if passed_ms is not None and abs(now_ms - passed_ms) <= self._interval_ms:
            return False
        self._passed[key] = now_ms
        heapq.heappush(self._oldest, (now_ms, key))
        if len(self._oldest) > 2 * len(self._passed) + _STALE_MAX:
            self._sort()
        return True

    def _forget(self, now_ms: int) -> None:
        while self._oldest and now_ms - self._oldest[0][0] > self._interval_ms:
            passed_ms, key = heapq.heappop(self._oldest)
            if self._passed.get(key) == passed_ms:
                del self._passed[key]

    def _sort(self) -> None:
        self._oldest = [(passed_ms, key) for key, passed_ms in self._passed.items()]
        heapq.heapify(self._oldest)

    def snapshot(self) -> PlainState:
        """When each remembered key passed."""
        return list(self._passed.items())

    def restore(self, state: PlainState) -> None:
        self._passed = {java.key(key): passed_ms for key, passed_ms in state}
        self._sort()


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("unique", "deduplicate"): Deduplicate
}
