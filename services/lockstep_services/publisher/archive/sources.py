"""The two logs of an app, as the archive follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.archive.events_in import InputRows, rows_of
from lockstep.archive.rows_out import OutputRows, Published, published_rows
from lockstep.bus import InputLog, OutputEntry, OutputLog, begins_beyond
from lockstep.events import ClaimRecord, OutputRecord, Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import in_columns
from lockstep_services.publisher.archive.following import READ_RECORDS
from lockstep_services.publisher.fleet_log import FleetLog

Wanted = Callable[[str], bool]


class InputSource:
    """The input log; `wanted`: whose events are kept."""

    def __init__(self, log: InputLog, wanted: Wanted) -> None:
        self._log = log
        self._wanted = wanted
        self._gaps: set[Position] = set()

    async def read(self, after: int, max_bytes: int, wait_ms: int) -> Sequence[EncodedEntry]:
        found = await self._log.read_encoded(
            after, max_records=READ_RECORDS, max_bytes=max_bytes, wait_ms=wait_ms
        )
        if await begins_beyond(self._log, after, found) is not None:
            self._gaps.add(found[0].position)
        return found

    def number(self, entry: EncodedEntry) -> int:
        return entry.position

    def size_bytes(self, entry: EncodedEntry) -> int:
        return len(entry.payload)

    def has_rows(self, entry: EncodedEntry) -> bool:
        return True

    def rows(self, entries: Sequence[EncodedEntry], now_ms: int) -> InputRows:
        found = rows_of(entries, self._wanted, self._gaps)
        self._gaps = {one for one in self._gaps if one > found.last}
        return found

    async def end(self) -> int:
        _, last = await self._log.bounds()
        return last


class OutputSource:
    """The output log, or the merged one of a fleet."""

    def __init__(self, log: OutputLog | FleetLog, wanted: Wanted) -> None:
        self._log = log
        self._wanted = wanted

    async def read(self, after: int, max_bytes: int, wait_ms: int) -> Sequence[OutputEntry]:
        return await self._log.read(
            after, max_records=READ_RECORDS, max_bytes=max_bytes, wait_ms=wait_ms
        )

    def number(self, entry: OutputEntry) -> int:
        return entry.sequence

    def size_bytes(self, entry: OutputEntry) -> int:
        record = entry.record
        if not isinstance(record, OutputRecord):
            return 0
        return sum(each.batch.nbytes for each in in_columns(record.rows).columns)

    def has_rows(self, entry: OutputEntry) -> bool:
        record = entry.record
        return isinstance(record, ClaimRecord) or bool(record.rows)

    def rows(self, entries: Sequence[OutputEntry], now_ms: int) -> OutputRows:
        found = [Published(entry.sequence, entry.record) for entry in entries]
        return published_rows(found, now_ms, self._wanted)

    async def end(self) -> int:
        return (await self._log.tail()).sequence
