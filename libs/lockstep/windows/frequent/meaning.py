"""frequent(n [, attribute …]) (semantics 7.11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.plan import java
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall


def key_of(call: WindowCall, first: int) -> Callable[[StreamEvent], Any]:
    """The values of the named attributes; of all attributes when none is named."""
    attributes = [call.attribute(index) for index in range(first, len(call))]
    if not attributes:
        return lambda event: java.key(event.data)
    return lambda event: java.key(tuple(event.data[attribute] for attribute in attributes))


class FrequentWindow(WindowBase):
    """Misra-Gries with n counters. A new key when all are in use decrements all; those at 0
    leave.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._counters = int(call.constant(0))
        self._key_of = key_of(call, 1)
        self._counts: dict[Any, int] = {}
        self._latest: dict[Any, StreamEvent] = {}

    def process(self, chunk: list[StreamEvent]) -> None:
        """Events of counted keys pass."""
        out: list[StreamEvent] = []
        for event in chunk:
            key = self._key_of(event)
            if key not in self._counts and len(self._counts) >= self._counters:
                self._decrement(out)
                if len(self._counts) >= self._counters:
                    continue
            self._counts[key] = self._counts.get(key, 0) + 1
            self._latest[key] = event
            out.append(event)
        if out:
            self.emit(out)

    def _decrement(self, out: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        for key in list(self._counts):
            self._counts[key] -= 1
            if self._counts[key] == 0:
                del self._counts[key]
                out.append(StreamEvent(now, self._latest.pop(key).data, EXPIRED))

    def content(self) -> Iterable[StreamEvent]:
        """The latest event of each counted key."""
        return self._latest.values()

    def snapshot(self) -> PlainState:
        """Counts and latest events by key."""
        return [(key, count, self._latest[key]) for key, count in self._counts.items()]

    def restore(self, state: PlainState) -> None:
        self._counts = {java.key(key): count for key, count, _ in state}
        self._latest = {java.key(key): event for key, _, event in state}
