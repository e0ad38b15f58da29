"""`#reorder:kslack`: holds events back and lets them go in the order of a timestamp attribute.

K is the largest lateness seen so far. An event with a new largest timestamp moves what came since
the last one behind the barrier, and lets go what is K older than it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan.java import LONG_MAX
from lockstep.stream_functions.call import Buffering, StreamCall

NO_TIMEOUT = -1
_AGAIN_MS = 1000
"""How long after a timeout the buffer is looked at again."""


class TimeBuffer:
    """Events by timestamp; those of one timestamp keep their order."""

    def __init__(self) -> None:
        self._events: dict[int, list[StreamEvent]] = {}
        self._times: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._events)

    def add(self, time_ms: int, events: list[StreamEvent]) -> None:
        """Takes events of one timestamp."""
        held = self._events.get(time_ms)
        if held is None:
            self._events[time_ms] = list(events)
            heapq.heappush(self._times, time_ms)
        else:
            held += events

    def earliest(self) -> int:
        """The smallest timestamp inside."""
        return self._times[0]

    def take_while(self, wanted: Callable[[int], bool]) -> list[tuple[int, list[StreamEvent]]]:
        """Takes the earliest out as long as their timestamps are wanted."""
        taken = []
        while self._times and wanted(self._times[0]):
            time_ms = heapq.heappop(self._times)
            taken.append((time_ms, self._events.pop(time_ms)))
        return taken

    def snapshot(self) -> PlainState:
        """The events by timestamp, earliest first."""
        return [(time_ms, list(self._events[time_ms])) for time_ms in sorted(self._events)]

    def restore(self, state: PlainState) -> None:
        self._events = {time_ms: list(events) for time_ms, events in state}
        self._times = sorted(self._events)


class KSlack(Buffering):
    """kslack(timestamp [, timeout] [, max.k] [, discard.late.arrival])."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._time_of = call.values[0]
        options = [a.value for a in call.arguments[1:] if a.is_constant]
        numbers = [option for option in options if not isinstance(option, bool)]
        flags = [option for option in options if isinstance(option, bool)]
        self.timeout_ms = int(numbers[0]) if numbers else NO_TIMEOUT
        self.max_k = int(numbers[1]) if len(numbers) > 1 else LONG_MAX
        self.discards_late = bool(flags and flags[0])
        self._arriving = TimeBuffer()
        self._waiting = TimeBuffer()
        self.k = 0
        self._largest = 0
        self._last_sent = -1
        self._due_ms = -1
        self._is_due = False

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        # All are read first: if one fails, the chunk is dropped, and none of it may stay inside.
        told = [None if event.kind > EXPIRED else self.read(event) for event in chunk]
        for event, values in zip(chunk, told, strict=True):
            if values is None:
                out.append(event)
                continue
            time_ms, field = values
            self.seen(time_ms, field)
            if self.discards_late and time_ms < self._last_sent:
                continue
            self._wake()
            self._arriving.add(time_ms, [event])
            self.taken(time_ms)
            if time_ms > self._largest:
                self._largest = time_ms
                self._release(out)
        if out:
            self.emit(out)

    def read(self, event: StreamEvent) -> tuple[int, float]:
        """The timestamp and, if there is one, the correlation field. EventError for a null."""
        time_ms = self._time_of(event)
        if time_ms is None:
            raise EventError("reorder: the timestamp is null")
        return time_ms, 0.0

    def seen(self, time_ms: int, field: float) -> None:
        """Told of every event."""

    def taken(self, time_ms: int) -> None:
        """Told of every event that is not discarded."""

    def slack_of(self, lateness: int) -> int:
        """K for a lateness beyond the present K and below max.k."""
        return lateness

    def _release(self, out: list[StreamEvent]) -> None:
        lateness = self._largest - self._arriving.earliest()
        if lateness > self.k:
            self.k = self.slack_of(lateness) if lateness < self.max_k else self.max_k
        for time_ms, events in self._arriving.take_while(lambda _: True):
            self._waiting.add(time_ms, events)
        barrier = self._largest - self.k
        for time_ms, events in self._waiting.take_while(lambda time_ms: time_ms <= barrier):
            self._last_sent = time_ms
            out += events

    # --- timeout ---------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Sets the timer at the first event, and at the first one after the buffer was empty."""
        if self.timeout_ms == NO_TIMEOUT or self._is_due:
            return
        now = self.context.now_ms()
        if self._due_ms < 0:
            self._due_ms = now + self.timeout_ms
        else:
            self._due_ms += -(-(now - self._due_ms) // _AGAIN_MS) * _AGAIN_MS
        self._is_due = True
        self.context.schedule(self, self._due_ms)

    def on_timer(self, due_ms: int) -> None:
        """What is older than the timeout leaves in order."""
        limit = self.timeout_ms + self.context.now_ms()
        out: list[StreamEvent] = []
        for buffer in self.flushed():
            for _, events in buffer.take_while(lambda time_ms: time_ms < limit):
                out += events
        self._is_due = any(self.flushed())
        if self._is_due:
            self._due_ms += _AGAIN_MS
            self.context.schedule(self, self._due_ms)
        if out:
            self.emit(out)

    def flushed(self) -> list[TimeBuffer]:
        """The buffers that a timeout empties."""
        return [self._waiting]

    def both(self) -> list[TimeBuffer]:
        """What waits behind the barrier, and what came since."""
        return [self._waiting, self._arriving]

    def snapshot(self) -> PlainState:
        """Both buffers, K, the timestamps and the timer."""
        return (
            self._arriving.snapshot(),
            self._waiting.snapshot(),
            (self.k, self._largest, self._last_sent, self._due_ms, self._is_due),
        )

    def restore(self, state: PlainState) -> None:
        arriving, waiting, numbers = state
        self._arriving.restore(arriving)
        self._waiting.restore(waiting)
        self.k, self._largest, self._last_sent, self._due_ms, self._is_due = numbers
