"""An input log in memory."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus.contract import Appended, Coded
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.memory.carrier import StoredLog
from lockstep.bus.memory.link import Link
from lockstep.bus.together import one_by_one
from lockstep.events import InputRecord, LogEntry, Position
from lockstep.events.codec import EncodedEntry, decode_input, encode_record


class MemoryInputLog:
    """One opened input log."""

    def __init__(self, log: StoredLog, link: Link, max_message_bytes: int) -> None:
        self._log = log
        self._link = link
        self._max_message_bytes = max_message_bytes

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        return await self.append_encoded(encode_record(record), dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        if len(payload) > self._max_message_bytes:
            raise RecordTooLargeError(len(payload), self._max_message_bytes, where=self._log.name)
        self._link.send()
        appended = self._log.append(self._log.name, payload, dedup_id)
        self._link.answer()
        return appended

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        return await one_by_one(self, records)

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[LogEntry]:
        entries = await self.read_encoded(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [LogEntry(entry.position, decode_input(entry.payload)) for entry in entries]

    async def read_encoded(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        self._link.send()
        found = await self._log.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        self._link.send()
        return [EncodedEntry(stored.position, stored.payload) for stored in found]

    async def at(self, position: Position) -> EncodedEntry | None:
        self._link.send()
        found = self._log.behind(position - 1, max_records=1, max_bytes=0)
        self._link.send()
        if not found or found[0].position != position:
            return None
        return EncodedEntry(position, found[0].payload)

    async def bounds(self) -> tuple[Position, Position]:
        self._link.send()
        entries = self._log.entries
        return (entries[0].position if entries else self._log.last + 1), self._log.last

    async def trim(self, up_to: Position) -> None:
        self._link.send()
        self._log.trim(up_to)
