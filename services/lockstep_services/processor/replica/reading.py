"""One reading of a log for all units of a fleet that this process carries: of the input log, and of
the output logs that several of them read.

Each record comes from the bus once, and is decoded once. A unit that is further behind than what is
kept reads by itself until it has caught up.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from lockstep.bus import (
    Accepted,
    Appended,
    Bus,
    Coded,
    Held,
    InputLog,
    LogName,
    OutputEntry,
    OutputLog,
    OutputTail,
    Refused,
)
from lockstep.clock import Clock
from lockstep.events import ClaimRecord, InputRecord, LogEntry, OutputRecord, Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import in_columns
from lockstep.frame import wait_set

E = TypeVar("E")
Given = TypeVar("Given", covariant=True)
ID_BYTES = 24
"""Of an output row, beside its values."""


class Read(Protocol[Given]):
    """What reads a log, as the contract of logs says."""

    async def __call__(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[Given]:
        """Entries behind `after`."""


class SharedReadings:
    """Of a process. `limit_bytes`: so much of a log is kept for units that are not as far as
    others; what all of them have read is kept no longer."""

    def __init__(self, bus: Bus, clock: Clock, limit_bytes: int) -> None:
        self._bus = bus
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._inputs: WeakValueDictionary[LogName, _Window[EncodedEntry]] = WeakValueDictionary()
        self._outputs: WeakValueDictionary[LogName, _Window[OutputEntry]] = WeakValueDictionary()

    async def open(self, name: LogName) -> InputLog:
        """A log that is there; LogGoneError."""
        own = await self._bus.input_log(name, make=False)
        window = self._inputs.get(name)
        if window is None:
            log = await self._bus.input_log(name, make=False)
            made = _Window(
                log.read_encoded, attrgetter("position"), attrgetter("size_bytes"), self._clock,
                self._limit_bytes,
            )  # fmt: skip
            window = self._inputs.setdefault(name, made)
        return SharedInputLog(own, window)

    async def open_output(self, name: LogName) -> OutputLog:
        """An output log that is there; LogGoneError."""
        own = await self._bus.output_log(name, make=False)
        window = self._outputs.get(name)
        if window is None:
            log = await self._bus.output_log(name, make=False)
            made = _Window(
                log.read, attrgetter("sequence"), _output_bytes, self._clock, self._limit_bytes
            )
            window = self._outputs.setdefault(name, made)
        return SharedOutputLog(own, window)


def _output_bytes(entry: OutputEntry) -> int:
    """About so much memory."""
    record = entry.record
    if not isinstance(record, OutputRecord):
        return ID_BYTES
    # What its buffers take, whoever shares them: `nbytes` walks through all columns.
    found = in_columns(record.rows).columns
    return sum(each.batch.get_total_buffer_size() + ID_BYTES * len(each) for each in found)


class _Reader(Protocol):
    """`place`: behind which position or sequence it has asked last."""

    place: int


class _Window(Generic[E]):
    """All entries behind `begin` up to `end`, and who reads on from there. `place_of`: where an
    entry stands in the log; `size_of`: its bytes."""

    def __init__(
        self,
        read: Read[E],
        place_of: Callable[[E], int],
        size_of: Callable[[E], int],
        clock: Clock,
        limit_bytes: int,
    ) -> None:
        self.readers: WeakSet[_Reader] = WeakSet()
        self.begin = 0
        self.end = 0
        self._entries: list[E] = []
        self._bytes = 0
        self._read = read
        self._place_of = place_of
        self._size_of = size_of
        self._clock = clock
        self._limit_bytes = limit_bytes
        self._is_reading = False
        self._moved = asyncio.Event()

    def has(self, after: int) -> bool:
        """What stands behind it is here, or comes next."""
        return self.begin <= after <= self.end

    def goes_on(self, after: int, entries: Sequence[E]) -> None:
        """Somebody has read what nobody else was at: it is kept from there on."""
        if after > self.end and not self._is_reading:
            self._entries, self._bytes = [], 0
            self.begin = self.end = after
            self._add(entries)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[E]:
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
                found = await self._read(
                    after, max_records=max_records, max_bytes=max_bytes, wait_ms=left_ms
                )
                self._add(found)
            finally:
                self._is_reading = False
                self._moved.set()
                self._moved = asyncio.Event()
            return found
        return ()

    def _held(self, after: int, max_records: int, max_bytes: int) -> list[E]:
        first = bisect_right(self._entries, after, key=self._place_of)
        found: list[E] = []
        size_bytes = 0
        for entry in self._entries[first : first + max_records]:
            size_bytes += self._size_of(entry)
            if found and size_bytes > max_bytes:
                break
            found.append(entry)
        return found

    def _add(self, entries: Sequence[E]) -> None:
        self._entries += entries
        self._bytes += sum(map(self._size_of, entries))
        if entries:
            self.end = self._place_of(entries[-1])
        places = [each.place for each in self.readers if self.has(each.place)]
        read_by_all = bisect_right(self._entries, min(places, default=self.end), key=self._place_of)
        dropped = 0
        for entry in self._entries:
            if dropped >= read_by_all and self._bytes <= self._limit_bytes:
                break
            self._bytes -= self._size_of(entry)
            self.begin = self._place_of(entry)
            dropped += 1
        del self._entries[:dropped]


class SharedInputLog:
    """One unit's view of the log; `place`: behind which position it has asked last."""

    def __init__(self, own: InputLog, window: _Window[EncodedEntry]) -> None:
        self._own = own
        self._window = window
        self.place: Position = -1
        window.readers.add(self)

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        return await self._own.append(record, dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        return await self._own.append_encoded(payload, dedup_id=dedup_id)

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        return await self._own.append_together(records)

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

    async def at(self, position: Position) -> EncodedEntry | None:
        return await self._own.at(position)

    async def bounds(self) -> tuple[Position, Position]:
        return await self._own.bounds()

    async def trim(self, up_to: Position) -> None:
        await self._own.trim(up_to)


class SharedOutputLog:
    """One unit's view of another unit's output log; `place`: behind which sequence it has waited
    last."""

    def __init__(self, own: OutputLog, window: _Window[OutputEntry]) -> None:
        self._own = own
        self._window = window
        self.place = -1
        window.readers.add(self)

    async def tail(self) -> OutputTail:
        return await self._own.tail()

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        return await self._own.append(record, expected_sequence=expected_sequence)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        asked: dict[str, Any] = {"max_records": max_records, "max_bytes": max_bytes}
        if not wait_ms:  # somebody looks for a place in the log
            return await self._own.read(after, **asked, wait_ms=0)
        self.place = after
        if self._window.has(after):
            return await self._window.read(after, **asked, wait_ms=wait_ms)
        found = await self._own.read(after, **asked, wait_ms=wait_ms)
        self._window.goes_on(after, found)
        return found

    async def held(self) -> Held:
        return await self._own.held()

    async def trim(self, up_to: int) -> None:
        await self._own.trim(up_to)
