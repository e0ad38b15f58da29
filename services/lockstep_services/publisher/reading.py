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
from lockstep.clock import Clock
from lockstep.events.outputs import RowsOfColumns
from lockstep.sinks.objects import Gathering

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
    wait_ms: int = READ_WAIT_MS,
) -> Waiting:
    """Records with that many rows, or those that are there; waits for the first. Errors:
    UnavailableError."""
    found: Waiting = deque()
    rows = 0
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


async def read_gathered(
    log: Log,
    after: int,
    rows_of: Callable[[OutputEntry], RowsOfColumns],
    gathering: Gathering,
    *,
    max_records: int,
    clock: Clock,
    may: Callable[[], bool],
) -> Waiting:
    """As `read_batch`, but from the first row on it waits for enough of them, as long as it `may`;
    none when it may no more: they are read again. Errors: UnavailableError."""
    found: Waiting = deque()
    rows, ends_ms = 0, 0
    while may():
        left_ms = ends_ms - clock.monotonic_ms() if rows else READ_WAIT_MS
        if left_ms <= 0:
            return found
        more = await read_batch(
            log, after, rows_of,
            wanted_rows=gathering.rows - rows,
            max_records=max_records - len(found),
            wait_ms=min(left_ms, READ_WAIT_MS),
        )  # fmt: skip
        came = sum(len(one) for _, one in more)
        if came and not rows:
            ends_ms = clock.monotonic_ms() + gathering.interval_ms
        found.extend(more)
        rows += came
        if not rows or rows >= gathering.rows or len(found) >= max_records:
            return found
        after = found[-1][0].sequence
    return deque()
