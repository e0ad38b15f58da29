"""One reading of an input log for all units of a fleet that this process carries.

Each record comes from the bus once, and is decoded once. A unit that is further behind than what is
kept reads by itself until it has caught up.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from weakref import WeakSet, WeakValueDictionary

from lockstep.bus import Appended, Bus, InputLog, LogName
from lockstep.clock import Clock
from lockstep.events import InputRecord, LogEntry, Position
from lockstep.events.codec import EncodedEntry
from lockstep.frame import wait_set

_POSITION = attrgetter("position")


class SharedReadings:
    """Of a process. `limit_bytes`: so much of a log is kept for units that are not as far as
    others; what all of them have read is kept no longer."""

    def __init__(self, bus: Bus, clock: Clock, limit_bytes: int) -> None:
        self._bus = bus
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._windows: WeakValueDictionary[LogName, _Window] = WeakValueDictionary()

    async def open(self, name: LogName) -> InputLog:
        """A log that is there; LogGoneError."""
        own = await self._bus.input_log(name, make=False)
        if name not in self._windows:
            made = _Window(
                await self._bus.input_log(name, make=False), self._clock, self._limit_bytes
            )
            return SharedInputLog(own, self._windows.setdefault(name, made))
        return SharedInputLog(own, self._windows[name])


class _Window:
    """All entries behind `begin` up to `end`, and who reads on from there."""

    def __init__(self, log: InputLog, clock: Clock, limit_bytes: int) -> None:
        self.readers: WeakSet[SharedInputLog] = WeakSet()
        self.begin: Position = 0
        self.end: Position = 0
        self._entries: list[EncodedEntry] = []
        self._bytes = 0
        self._log = log
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._is_reading = False
        self._moved = asyncio.Event()

    def has(self, after: Position) -> bool:
        """What stands behind it is here, or comes next."""
        return self.begin <= after <= self.end

    def goes_on(self, after: Position, entries: Sequence[EncodedEntry]) -> None:
        """Somebody has read what nobody else was at: it is kept from there on."""
        if after > self.end and not self._is_reading:
            self._entries, self._bytes = [], 0
            self.begin = self.end = after
            self._add(entries)

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        """As the contract of a log says. One of those who wait at the end reads for all; when it
        goes, another one does."""
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while self.has(after):
            if after < self.end:
                return self._held(after, max_records, max_bytes)
            left_ms = deadline_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                break
            if self._is_reading:
                await wait_set(self._moved, self._clock, left_ms)
                continue
            self._is_reading = True
            try:
                found = await self._log.read_encoded(
                    after, max_records=max_records, max_bytes=max_bytes, wait_ms=left_ms
                )
                self._add(found)
            finally:
                self._is_reading = False
                self._moved.set()
                self._moved = asyncio.Event()
            return found
        return ()

    def _held(self, after: Position, max_records: int, max_bytes: int) -> list[EncodedEntry]:
        first = bisect_right(self._entries, after, key=_POSITION)
        found: list[EncodedEntry] = []
        size_bytes = 0
        for entry in self._entries[first : first + max_records]:
            size_bytes += len(entry.payload)
            if found and size_bytes > max_bytes:
                break
            found.append(entry)
        return found

    def _add(self, entries: Sequence[EncodedEntry]) -> None:
        self._entries += entries
        self._bytes += sum(len(entry.payload) for entry in entries)
        if entries:
            self.end = entries[-1].position
        places = [each.place for each in self.readers if self.has(each.place)]
        read_by_all = bisect_right(self._entries, min(places, default=self.end), key=_POSITION)
        dropped = 0
        for entry in self._entries:
            if dropped >= read_by_all and self._bytes <= self._limit_bytes:
                break
            self._bytes -= len(entry.payload)
            self.begin = entry.position
            dropped += 1
        del self._entries[:dropped]


class SharedInputLog:
    """One unit's view of the log; `place`: behind which position it has asked last."""

    def __init__(self, own: InputLog, window: _Window) -> None:
        self._own = own
        self._window = window
        self.place: Position = -1
        window.readers.add(self)

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        return await self._own.append(record, dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        return await self._own.append_encoded(payload, dedup_id=dedup_id)

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[LogEntry]:
        return await self._own.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )

    async def read_encoded(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        self.place = after
        if wait_ms and self._window.has(after):
            return await self._window.read(
                after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
            )
        found = await self._own.read_encoded(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        self._window.goes_on(after, found)
        return found

    async def bounds(self) -> tuple[Position, Position]:
        return await self._own.bounds()

    async def trim(self, up_to: Position) -> None:
        await self._own.trim(up_to)
