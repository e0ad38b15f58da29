"""What fills a sink's batch, read from an output log piece by piece.

Decoding keeps the process busy. The sinks of an app that was held up all have thousands of records
to read, and the lease has to be renewed meanwhile: so each reads few at a time, and the others,
and the lease, have their turn in between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from lockstep.bus import OutputEntry
from lockstep.events.outputs import RowsOfColumns

PIECE_RECORDS: Final = 64
"""That are read and decoded in one turn."""
READ_MAX_BYTES: Final = 4_194_304
READ_WAIT_MS: Final = 10_000

Waiting = deque[tuple[OutputEntry, RowsOfColumns]]
"""Records, and which of their rows are a sink's."""


class Log(Protocol):
    """An output log, or those of a fleet as one."""

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]: ...


async def read_batch(
    log: Log,
    after: int,
    rows_of: Callable[[OutputEntry], RowsOfColumns],
    *,
    wanted_rows: int,
    max_records: int,
) -> Waiting:
    """Records with that many rows, or those that are there; waits for the first. Errors:
    UnavailableError."""
    found: Waiting = deque()
    rows = 0
    wait_ms = READ_WAIT_MS
    while rows < wanted_rows and len(found) < max_records:
        ask = min(PIECE_RECORDS, max_records - len(found))
        entries = await log.read(after, max_records=ask, max_bytes=READ_MAX_BYTES, wait_ms=wait_ms)
        for entry in entries:
            found.append((entry, rows_of(entry)))
            rows += len(found[-1][1])
        if len(entries) < ask:
            break
        after, wait_ms = entries[-1].sequence, 0
        await asyncio.sleep(0)
    return found
