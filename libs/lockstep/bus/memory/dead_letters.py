"""Dead letters in memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import LETTERS_BYTES, Appended, DeadLetter, StoredDeadLetter
from lockstep.bus.letters import decode_letter, encode_letter, for_all_apps
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

    async def append(self, letter: DeadLetter, *, dedup_id: str | None = None) -> Appended:
        self._link.send()
        subject = dead_subject(letter.app, letter.stream)
        payload = encode_letter(letter, MAX_LETTER_BYTES)
        with for_all_apps(subject):
            appended = self._log.append(subject, payload, dedup_id)
        self._link.answer()
        return appended

    async def read(
        self,
        app: str,
        stream: str | None = None,
        *,
        after: int = 0,
        max_records: int = 100,
        max_bytes: int = LETTERS_BYTES,
    ) -> Sequence[StoredDeadLetter]:
        self._link.send()
        pattern = dead_pattern(app, stream)
        there = self._log.behind(after, max_records=sys.maxsize, max_bytes=sys.maxsize)
        found: list[StoredDeadLetter] = []
        size_bytes = 0
        for stored in there:
            if len(found) >= max_records or size_bytes > max_bytes:
                break
            if matches(pattern, stored.subject):
                found.append(StoredDeadLetter(stored.position, decode_letter(stored.payload)))
                size_bytes += len(stored.payload)
        return found

    async def remove(self, sequences: Sequence[int]) -> int:
        self._link.send()
        return sum(self._log.remove(sequence) for sequence in sequences)
