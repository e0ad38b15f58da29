"""What the server would hold: stored logs, and signals that something has come."""

from __future__ import annotations

import asyncio
import itertools
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lockstep.bus.contract import Appended, OutputTail
from lockstep.bus.errors import LogFullError, LogGoneError
from lockstep.bus.limits import BusLimits
from lockstep.bus.subjects import matches
from lockstep.clock import Clock, wait_set
from lockstep.events import Position


class Stored(NamedTuple):
    """One message of a log."""

    position: Position
    subject: str
    payload: bytes


class Signal:
    """Wakes everybody who waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Something has come."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, clock: Clock, limit_ms: int) -> None:
        """Until `set` or until the time is up on the given clock."""
        await wait_set(self._event, clock, limit_ms)


class StoredLog:
    """An ordered log with positions from 1, a byte limit and a window of dedup ids."""

    def __init__(self, name: str, clock: Clock, *, max_bytes: int, dedup_window_ms: int) -> None:
        self.name = name
        self.entries: list[Stored] = []
        self.last: Position = 0
        self.tail = OutputTail(0, 0, None)
        self.changed = Signal()
        self.is_gone = False
        self._clock = clock
        self._max_bytes = max_bytes
        self._dedup_window_ms = dedup_window_ms
        self.size_bytes = 0
        self._seen: OrderedDict[str, tuple[Position, int]] = OrderedDict()

    def append(self, subject: str, payload: bytes, dedup_id: str | None = None) -> Appended:
        """Stores it, or finds it by its id; LogFullError at the limit, LogGoneError if removed."""
        if self.is_gone:
            raise LogGoneError(self.name)
        now_ms = self._clock.now_ms()
        while self._seen and next(iter(self._seen.values()))[1] + self._dedup_window_ms < now_ms:
            self._seen.popitem(last=False)
        if dedup_id is not None and dedup_id in self._seen:
            return Appended(self._seen[dedup_id][0], duplicate=True)
        if self.size_bytes + len(payload) > self._max_bytes:
            raise LogFullError(self.name, self._max_bytes)
        self.last += 1
        self.size_bytes += len(payload)
        self.entries.append(Stored(self.last, subject, payload))
        if dedup_id is not None:
            self._seen[dedup_id] = (self.last, now_ms)
        self.changed.set()
        return Appended(self.last)

    def behind(self, after: Position, *, max_records: int, max_bytes: int) -> list[Stored]:
        """Messages behind a position; at least one, if there is one, whatever its size."""
        start = bisect_right(self.entries, after, key=lambda stored: stored.position)
        taken: list[Stored] = []
        size_bytes = 0
        for stored in self.entries[start : start + max_records]:
            size_bytes += len(stored.payload)
            if taken and size_bytes > max_bytes:
                break
            taken.append(stored)
        return taken

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> list[Stored]:
        """As `behind`, waiting for the first message."""
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            found = self.behind(after, max_records=max_records, max_bytes=max_bytes)
            remaining_ms = deadline_ms - self._clock.monotonic_ms()
            if found or remaining_ms <= 0:
                return found
            await self.changed.wait(self._clock, remaining_ms)

    def trim(self, up_to: Position) -> None:
        """Forgets what is not behind a position."""
        start = bisect_right(self.entries, up_to, key=lambda stored: stored.position)
        self.size_bytes -= sum(len(stored.payload) for stored in self.entries[:start])
        del self.entries[:start]

    def remove(self, position: Position) -> bool:
        """Forgets one message; False when it is not there."""
        at = bisect_right(self.entries, position, key=lambda stored: stored.position) - 1
        if at < 0 or self.entries[at].position != position:
            return False
        self.size_bytes -= len(self.entries.pop(at).payload)
        return True


@dataclass
class MemoryCarrier:
    """Shared by all MemoryBus objects that are to see one another."""

    clock: Clock
    limits: BusLimits = field(default_factory=BusLimits)
    _logs: dict[str, StoredLog] = field(default_factory=dict)
    ingress_due: dict[Position, int] = field(default_factory=dict)
    listeners: dict[int, object] = field(default_factory=dict)
    _keys: Iterator[int] = field(default_factory=itertools.count)
    owner: str = ""

    def log(self, subject: str, *, max_bytes: int | None = None) -> StoredLog:
        """The log of that name, made when missing."""
        if subject not in self._logs:
            self._logs[subject] = StoredLog(
                subject,
                self.clock,
                max_bytes=max_bytes or self.limits.max_log_bytes,
                dedup_window_ms=self.limits.dedup_window_ms,
            )
        return self._logs[subject]

    def has(self, subject: str) -> bool:
        """Whether there is a log of that name now."""
        return subject in self._logs

    def next_key(self) -> int:
        """A key for `listeners`, in the order of their coming."""
        return next(self._keys)

    def subjects(self, pattern: str) -> list[str]:
        """The logs whose names fit a pattern."""
        return [subject for subject in self._logs if matches(pattern, subject)]

    def remove(self, subject: str) -> None:
        """Forgets a log; who has it open still cannot append to it any more."""
        log = self._logs.pop(subject, None)
        if log is not None:
            log.is_gone = True
