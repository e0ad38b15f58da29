"""An output log in memory; it checks the permit like every other."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus.contract import Accepted, Held, OutputEntry, OutputTail, Refused
from lockstep.bus.errors import LogGoneError
from lockstep.bus.memory.carrier import StoredLog
from lockstep.bus.memory.link import Link
from lockstep.bus.tails import may_follow, pieces, tail_after
from lockstep.events import ClaimRecord, OutputRecord
from lockstep.events.codec import decode_output


class MemoryOutputLog:
    """One opened output log."""

    def __init__(self, log: StoredLog, link: Link, max_message_bytes: int) -> None:
        self._log = log
        self._link = link
        self._max_message_bytes = max_message_bytes

    async def tail(self) -> OutputTail:
        self._look()
        return self._log.tail

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        parts = list(pieces(record, self._max_message_bytes, self._log.name))
        for part, payload in parts:
            self._link.send()
            tail = self._log.tail
            if tail.sequence != expected_sequence or not may_follow(tail, part):
                return Refused(tail)
            expected_sequence = self._log.append(self._log.name, payload).position
            self._log.tail = tail_after(tail, part, expected_sequence)
        self._link.answer()
        return Accepted(expected_sequence)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        self._link.send()
        found = await self._log.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        self._link.send()
        return [OutputEntry(stored.position, decode_output(stored.payload)) for stored in found]

    async def held(self) -> Held:
        self._look()
        return Held(len(self._log.entries), self._log.size_bytes)

    async def trim(self, up_to: int) -> None:
        self._look()
        self._log.trim(min(up_to, self._log.last - 1))

    def _look(self) -> None:
        """LogGoneError when the log was removed."""
        self._link.send()
        if self._log.is_gone:
            raise LogGoneError(self._log.name)
