"""What the sinks of an app read from its output log, fetched and decoded once.

Each sink has a cursor of its own, so that a slow one holds up nobody. But sinks that keep together
want the same records at the same time: one of them reads, and the others are given what it read.
A sink that is behind reads by a way of its own, until it has caught up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final, Protocol

from lockstep.bus import OutputEntry, OutputTail
from lockstep.clock import Clock, wait_set
from lockstep.events import LockstepError, OutputRecord
from lockstep_services.publisher.reading import Log

KEPT_ROWS: Final = 16_384
"""Of one app, for sinks that come a moment later; the last record is kept whatever its size."""


class LogWithEnd(Log, Protocol):
    """The reading side of an output log."""

    async def tail(self) -> OutputTail: ...


OpensLog = Callable[[], Awaitable[LogWithEnd]]


class SharedReads:
    """The latest records of one log, in order and without a gap. Lives as long as the app's sinks
    do: what a log begun anew holds is nothing that was read before."""

    def __init__(self, opens: OpensLog, clock: Clock) -> None:
        self._opens = opens
        self._clock = clock
        self._log: LogWithEnd | None = None
        self._entries: deque[OutputEntry] = deque()
        self._behind = 0
        self._rows = 0
        self._reading: tuple[int, asyncio.Event] | None = None
        """Behind which record somebody reads at the front; set when he is through."""

    @property
    def end(self) -> int:
        """The last record that was read at the front."""
        return self._last

    def for_sink(self) -> SharedLog:
        """One sink's view of the log."""
        return SharedLog(self, self._opens)

    async def tail(self) -> OutputTail:
        """Of the log as it is now. UnavailableError."""
        log = await self._opens()
        tail = await log.tail()
        if tail.sequence < self._last:
            self._log = log
            self._forget(0)
        return tail

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry] | None:
        """As `OutputLog.read`; None for a reader who is behind: he has to read for himself."""
        ends_ms = self._clock.monotonic_ms() + wait_ms
        while self._behind <= after:
            if after < self._last:
                return list(islice((e for e in self._entries if e.sequence > after), max_records))
            left_ms = max(0, ends_ms - self._clock.monotonic_ms())
            if self._reading is None:
                return await self._read_on(after, max_records, max_bytes, left_ms)
            place, is_through = self._reading
            if place != after or not wait_ms:
                return None
            if not await wait_set(is_through, self._clock, left_ms):
                return ()
        return None

    async def _read_on(
        self, after: int, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        is_through = asyncio.Event()
        self._reading = after, is_through
        try:
            log = await self._front()
            found = await log.read(
                after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
            )
            self._keep(after, found)
            return found
        except LockstepError:
            self._log = None  # it may have to be made again
            raise
        finally:
            self._reading = None
            is_through.set()

    async def _front(self) -> LogWithEnd:
        log = self._log = self._log or await self._opens()
        return log

    @property
    def _last(self) -> int:
        return self._entries[-1].sequence if self._entries else self._behind

    def _forget(self, behind: int) -> None:
        self._entries.clear()
        self._behind, self._rows = behind, 0

    def _keep(self, after: int, found: Sequence[OutputEntry]) -> None:
        if after != self._last:  # who read is ahead of all that is kept
            self._forget(after)
        self._entries.extend(found)
        self._rows += sum(map(_rows_of, found))
        while self._rows > KEPT_ROWS and len(self._entries) > 1:
            oldest = self._entries.popleft()
            self._behind = oldest.sequence
            self._rows -= _rows_of(oldest)


class SharedLog:
    """The reading side of an output log, for one sink."""

    def __init__(self, shared: SharedReads, opens: OpensLog) -> None:
        self._shared = shared
        self._opens = opens
        self._own: LogWithEnd | None = None

    async def tail(self) -> OutputTail:
        """As OutputLog.tail."""
        return await self._shared.tail()

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """As OutputLog.read."""
        found = await self._shared.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        if found is None:
            log = self._own = self._own or await self._opens()
            return await log.read(
                after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
            )
        return found


def _rows_of(entry: OutputEntry) -> int:
    return len(entry.record.rows) if isinstance(entry.record, OutputRecord) else 0
