"""`#unique:deduplicate(key, t)`: passes an event unless its key passed within the last t ms."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory

_REMEMBERS: Final = 2
"""For how many t of the app's clock a key is remembered. One is what the promise takes; with the
other an event may be late by up to t."""

_MANY: Final = 100_000
"""Keys. While more are remembered, each that passes takes up to two of them along, if by the
timestamps it is more than t away from them: who reads the events of a year within an hour does not
keep them all. One event that is far ahead takes no more than two."""


class Deduplicate(Buffering):
    """A gap of exactly t is still a duplicate; what is dropped does not prolong the period.

    Timestamps may fall. A gap is one in either direction, so an event whose timestamp is far ahead
    holds up no event after it, of its own key or of another. What is forgotten goes by the app's
    clock, not by timestamps: so it makes nobody forget a key either, and who comes late is known.
    """

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._key_of = call.values[0]
        self._interval_ms = int(call.constant(1))
        # By key (its timestamp, the clock when it passed); who passed last stands last.
        self._passed: OrderedDict[Any, tuple[int, int | None]] = OrderedDict()

    def process(self, chunk: list[StreamEvent]) -> None:
        # All keys first: if one fails, the chunk is dropped, and none of it has passed.
        keys = [None if event.kind > EXPIRED else self._key(event) for event in chunk]
        now_ms = self.context.now_ms()
        self._forget(now_ms)
        out = [
            event
            for event, key in zip(chunk, keys, strict=True)
            if key is None or self._passes(event.timestamp_ms, key, now_ms)
        ]
        if out:
            self.emit(out)

    def _key(self, event: StreamEvent) -> Any:
        key = java.key(self._key_of(event))
        if key is None:
            raise EventError("unique:deduplicate takes no null key")
        return key

    def _passes(self, timestamp_ms: int, key: Any, now_ms: int) -> bool:
        passed = self._passed.get(key)
        if passed is not None and abs(timestamp_ms - passed[0]) <= self._interval_ms:
            return False
        self._passed[key] = timestamp_ms, now_ms
        self._passed.move_to_end(key)
        if len(self._passed) > _MANY:
            self._thin(timestamp_ms)
        return True

    def _forget(self, now_ms: int) -> None:
        """What passed too long ago by the clock. It may have been set back (playback)."""
        span_ms = _REMEMBERS * self._interval_ms
        while self._passed:
            key, (_, since_ms) = next(iter(self._passed.items()))
            if since_ms is None:  # of a state of an earlier release, which is as good as new
                for each, (passed_ms, _) in list(self._passed.items()):
                    self._passed[each] = passed_ms, now_ms
                return
            if abs(now_ms - since_ms) <= span_ms:
                return
            del self._passed[key]

    def _thin(self, timestamp_ms: int) -> None:
        """See _MANY."""
        for _ in range(2):
            key, (passed_ms, _) = next(iter(self._passed.items()))
            if abs(timestamp_ms - passed_ms) <= self._interval_ms:
                return
            del self._passed[key]

    def snapshot(self) -> PlainState:
        """When each remembered key passed, by its timestamp and by the clock."""
        return [(key, *passed) for key, passed in self._passed.items()]

    def restore(self, state: PlainState) -> None:
        self._passed = OrderedDict(
            (java.key(key), (passed_ms, since[0] if since else None))
            for key, passed_ms, *since in state
        )


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("unique", "deduplicate"): Deduplicate
}
