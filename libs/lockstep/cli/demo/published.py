"""Reading back what was published: every row of an app's output log, with its identity."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from lockstep.bus import OutputLog
from lockstep.events import OutputId, OutputRecord

READ_RECORDS = 500
READ_BYTES = 16 * 1024 * 1024
READ_WAIT_MS = 500


@dataclass(slots=True)
class Published:
    """Rows by stream, each led by its event time, and identities that occur more than once."""

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(list))
    total: int = 0
    duplicated: int = 0
    out_of_order: int = 0


async def read_published(log: OutputLog) -> Published:
    """Reads an output log from its first record to its present end."""
    published = Published()
    seen: set[OutputId] = set()
    end = (await log.tail()).sequence
    at, last_id = 0, OutputId(0, -1)
    while at < end:
        entries = await log.read(
            at, max_records=READ_RECORDS, max_bytes=READ_BYTES, wait_ms=READ_WAIT_MS
        )
        for entry in entries:
            at = entry.sequence
            if not isinstance(entry.record, OutputRecord):
                continue
            for row in entry.record.rows:
                seen.add(row.id)
                published.total += 1
                published.out_of_order += row.id <= last_id
                last_id = max(last_id, row.id)
                published.rows[row.stream].append((row.timestamp_ms, *row.data))
    published.duplicated = published.total - len(seen)
    return published
