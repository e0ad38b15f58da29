"""Dead letters in memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import DeadLetter, StoredDeadLetter
from lockstep.bus.letters import decode_letter, encode_letter
from lockstep.bus.memory.carrier import StoredLog
from lockstep.bus.memory.link import Link
from lockstep.bus.subjects import dead_pattern, dead_subject, matches

MAX_LETTER_BYTES: Final = 8_000_000
"""As a server has a limit of its own, beside those of logs."""


class MemoryDeadLetters:
    """Dead letters of all apps."""

    def __init__(self, log: StoredLog, link: Link) -> None:
        self._log = log
        self._link = link

    async def append(self, letter: DeadLetter, *, dedup_id: str | None = None) -> int:
        self._link.send()
        subject = dead_subject(letter.app, letter.stream)
        appended = self._log.append(subject, encode_letter(letter, MAX_LETTER_BYTES), dedup_id)
        self._link.answer()
        return appended.position

    async def read(
        self, app: str, stream: str | None = None, *, after: int = 0, max_records: int = 100
    ) -> Sequence[StoredDeadLetter]:
        self._link.send()
        pattern = dead_pattern(app, stream)
        found = self._log.behind(after, max_records=sys.maxsize, max_bytes=sys.maxsize)
        return [
            StoredDeadLetter(stored.position, decode_letter(stored.payload))
            for stored in found
            if matches(pattern, stored.subject)
        ][:max_records]

    async def remove(self, sequences: Sequence[int]) -> int:
        self._link.send()
        return sum(self._log.remove(sequence) for sequence in sequences)
