"""Waiting for what has to come, on a machine that may be busy: long, never for ever, and whoever
waited in vain is told what was there instead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeVar

from lockstep.bus import OutputEntry
from lockstep.events import LogEntry
from lockstep.events.codec import EncodedEntry

PATIENCE_S: Final = 60  # nothing that works takes as long; well below the limit for a test
PATIENCE_MS: Final = PATIENCE_S * 1_000
_LOOK_EVERY_S: Final = 0.02

Entry = TypeVar("Entry", LogEntry, EncodedEntry, OutputEntry, covariant=True)


class Reads(Protocol[Entry]):
    """The reading of a log."""

    async def __call__(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[Entry]:
        """Entries behind `after`."""


async def eventually(holds: Callable[[], Awaitable[object]]) -> None:
    """Returns once it holds; fails with what it said last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while not (said := await holds()):
        if loop.time() > deadline:
            raise AssertionError(f"still {said!r} after {PATIENCE_S} s")
        await asyncio.sleep(_LOOK_EVERY_S)


async def read_on(
    read: Reads[Entry], after: int, count: int, *, max_records: int = 1_000
) -> list[Entry]:
    """The entries behind `after`, at least `count` of them, in as many reads as it takes: each may
    bring less than is there. Fails with those that came."""
    found: list[Entry] = []
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while len(found) < count:
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"{len(found)} of {count} in {PATIENCE_S} s: {found}")
        wanted = max_records - len(found)
        entries = await read(after, max_records=wanted, max_bytes=10_000_000, wait_ms=PATIENCE_MS)
        assert len(entries) <= wanted
        found += entries
        after = _place(found[-1]) if found else after
    return found


def _place(entry: LogEntry | EncodedEntry | OutputEntry) -> int:
    return entry.sequence if isinstance(entry, OutputEntry) else entry.position
