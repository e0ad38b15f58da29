"""What a client holds of one partition: a stretch of records that all readers near it share."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from lockstep.events import LockstepError

Key = tuple[str, int]
"""A topic and one of its partitions."""

_FRAME_BYTES: Final = 512  # what a record takes in memory beside its value, about
_BEHIND: Final = 4  # this part of the limit is kept for readers that come later
_offset = attrgetter("offset")


@dataclass(frozen=True, slots=True)
class Raw:
    """A stored record."""

    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes
    headers: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """What counts towards a log's limit."""
        return len(self.value)


class Window:
    """All records from `first` on to in front of `next`. The client brings more at its end, until
    it is `limit_bytes` ahead of the furthest reader; what is far behind that one is forgotten.

    `is_sure`: whether the client has given anything yet. `reading`: how many readers wait in it.
    """

    def __init__(self, key: Key, offset: int, limit_bytes: int) -> None:
        self.key = key
        self.first = self.next = offset
        self.is_sure = False
        self.is_closing = False
        self.posted_bytes = 0  # written by the client's thread alone
        self.reading = 0
        self.used_s = asyncio.get_running_loop().time()
        self.trouble: LockstepError | None = None
        self._records: list[Raw] = []
        self._furthest = offset
        self._passed_bytes = 0
        self._behind_bytes = 0
        self._limit_bytes = limit_bytes
        self._arrived = asyncio.Event()

    @property
    def ahead_bytes(self) -> int:
        """Of what the client has brought and nobody has read."""
        return self.posted_bytes - self._passed_bytes

    def covers(self, offset: int) -> bool:
        """Whether a read can go on from there."""
        return not self.is_closing and self.first <= offset <= self.next

    def bring(self, raws: Sequence[Raw]) -> None:
        """The client has got these."""
        fresh = [raw for raw in raws if raw.offset >= self.next]
        self._passed_bytes += sum(size_of(raw) for raw in raws) - sum(size_of(raw) for raw in fresh)
        if fresh:
            self._records += fresh
            self.next = fresh[-1].offset + 1
            self.is_sure = True
            self._arrived.set()

    def fail(self, trouble: LockstepError) -> None:
        """Whoever reads is told."""
        self.trouble = trouble
        self._arrived.set()

    async def more(self, offset: int, wait_s: float) -> None:
        """Returns when something from there on has come, or then."""
        if self.trouble is not None or (self._records and self._records[-1].offset >= offset):
            return
        # Who waits there needs nothing in front of it. Uncounted, the client would hold still as
        # long as nobody has taken what it has brought, and this reader would wait for it in vain.
        self._pass(offset)
        self._arrived.clear()
        self.reading += 1
        try:
            # Not `wait_for`: before Python 3.12 it goes on where it is cancelled as records come.
            async with asyncio.timeout(wait_s):
                await self._arrived.wait()
        except TimeoutError:
            pass
        finally:
            self.reading -= 1
            self.used_s = asyncio.get_running_loop().time()

    def take(self, offset: int, max_records: int, max_bytes: int) -> list[Raw]:
        """The records from an offset on that are there; one at least, if there is any."""
        self.used_s = asyncio.get_running_loop().time()
        start = bisect_left(self._records, offset, key=_offset)
        taken: list[Raw] = []
        size_bytes = 0
        for raw in self._records[start : start + max_records]:
            size_bytes += raw.size_bytes
            if taken and size_bytes > max_bytes:
                break
            taken.append(raw)
        if taken:
            self._pass(taken[-1].offset + 1)
        return taken

    def _pass(self, end: int) -> None:
        """The furthest reader is there, if it was not further; forgets what is far behind it."""
        if end > self._furthest:
            since = bisect_left(self._records, self._furthest, key=_offset)
            until = bisect_left(self._records, end, key=_offset)
            passed_bytes = sum(size_of(raw) for raw in self._records[since:until])
            self._passed_bytes += passed_bytes
            self._behind_bytes += passed_bytes
            self._furthest = end
        gone = 0
        while self._behind_bytes > self._limit_bytes // _BEHIND:
            self._behind_bytes -= size_of(self._records[gone])
            gone += 1
        if gone:
            self.first = self._records[gone - 1].offset + 1
            del self._records[:gone]


def size_of(raw: Raw) -> int:
    """What it takes in memory."""
    return len(raw.value) + _FRAME_BYTES
