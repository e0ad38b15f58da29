"""The input log as it means itself: what a judge counts, written apart from the sieve it judges."""

from __future__ import annotations

from lockstep.events import TickRecord
from lockstep.events.codec import (
    EncodedEntry,
    EventColumns,
    EventsHeader,
    encode_columns,
    encode_record,
    send_ids_in,
)


class CountedOnce:
    """A send that was repeated late, by another receiver or in other company stands in the log
    twice and counts once, where it stands first; a record without anything new only moves the
    clock."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def of(self, entry: EncodedEntry) -> EncodedEntry:
        """What counts of the next record of the log."""
        header = entry.header
        ids = send_ids_in(header) if isinstance(header, EventsHeader) else ()
        again: list[int] = []
        for number, send_id in enumerate(ids):
            if send_id in self._seen:
                again.append(number)
            self._seen.add(send_id)
        if not again:
            return entry
        columns = entry.columns()
        if isinstance(columns, EventColumns) and len(again) < len(ids):
            return EncodedEntry(entry.position, encode_columns(columns.without_chunks(again)))
        return EncodedEntry(entry.position, encode_record(TickRecord(entry.header.clock_ms)))
