"""`#priority:time(key, priority, t)`: the priorities of keys. An event adds its own to its key's,
and each t without an event takes one away."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from lockstep.events import AttributeType
from lockstep.operators.contract import CURRENT, EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.plan.java import INT_MAX, LONG_MAX
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory


class _Held(NamedTuple):
    """A key's priority, when it changed last, and the key's latest event."""

    priority: int
    since_ms: int
    event: StreamEvent


class Priorities(Buffering):
    """Keys with a priority above 0, the longest unchanged first. A timer is pending for the first.

    A priority stays within its type and does not go below 0.
    """

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._key_of, self._priority_of, _ = call.values
        self._timeout_ms = int(call.constant(2))
        self._most = INT_MAX if call.type_of(1) is AttributeType.INT else LONG_MAX
        self._held: OrderedDict[Any, _Held] = OrderedDict()

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind == CURRENT:
                key = java.key(self._key_of(event))
                out.append(_with(event, event.timestamp_ms, key, self._taken(key, event)))
            elif event.kind == EXPIRED:
                out.append(event.as_kind(EXPIRED, event.timestamp_ms))
                out[-1].data += (None, None)
            else:
                out.append(event)
        self._wake()
        self.emit(out)

    def _taken(self, key: Any, event: StreamEvent) -> int:
        """The key's priority with the event."""
        more = self._priority_of(event)
        if key is None or more is None:
            raise EventError(f"priority:time: the {'key' if key is None else 'priority'} is null")
        before = self._held.pop(key, None)
        priority = more if before is None else min(max(before.priority + more, 0), self._most)
        self._keep(key, priority, event)
        return int(priority)

    def _keep(self, key: Any, priority: int, event: StreamEvent) -> None:
        if priority > 0:
            self._held[key] = _Held(priority, self.context.now_ms(), event)

    def _wake(self) -> None:
        if self._held:
            first = next(iter(self._held.values()))
            self.context.schedule(self, first.since_ms + self._timeout_ms)

    def on_timer(self, due_ms: int) -> None:
        """Takes one away from each key that was unchanged for t, and tells what is left."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for key in self._due(now):
            held = self._held.pop(key)
            self._keep(key, held.priority - 1, held.event)
            out.append(_with(held.event, now, key, held.priority - 1))
        self._wake()
        if out:
            self.emit(out)

    def _due(self, now_ms: int) -> list[Any]:
        """The keys that were unchanged for t: they stand in front."""
        due = []
        for key, held in self._held.items():
            if held.since_ms + self._timeout_ms > now_ms:
                break
            due.append(key)
        return due

    def snapshot(self) -> PlainState:
        """Each key with its priority, when it changed and its latest event; in order."""
        return [(key, *held) for key, held in self._held.items()]

    def restore(self, state: PlainState) -> None:
        self._held = OrderedDict((java.key(key), _Held(*held)) for key, *held in state)


def _with(event: StreamEvent, timestamp_ms: int, key: Any, priority: int) -> StreamEvent:
    return StreamEvent(timestamp_ms, (*event.data, key, priority))


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {("priority", "time"): Priorities}
