"""How full the input log may be, as far as one replica can tell of what it has read. Pure.

Nobody is asked: of a thousand apps whose logs are far from full each would cost a request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from lockstep.bus import nearly_full_bytes
from lockstep.events import Position

RECORD_BYTES: Final = 512
"""What a carrier may count for a record beside its payload: its subject, headers, checksum."""
MAX_SEEN: Final = 4_096


class Filling:
    """Of one input log. Of what was there before this replica read it only the number is known."""

    def __init__(self) -> None:
        self._first: Position = 1
        self._unknown_to: Position = 0
        self._read_to: Position = 0
        self._seen: deque[tuple[Position, int]] = deque()
        self._seen_bytes = 0

    def begins(self, first: Position, position: Position) -> None:
        """The log's first record, and behind which one the replica reads."""
        self._first = first
        self._knows_nothing_before(position)

    def read(self, after: Position, records: Sequence[tuple[Position, int]]) -> None:
        """The positions of what stands behind `after`, and how many bytes each has."""
        if after != self._read_to:  # a revision was restored in between
            self._knows_nothing_before(after)
        # The last one by itself: a revision may stand there, and the log is kept from it on.
        for part in (records[:-1], records[-1:]):
            if part:
                taken_bytes = sum(size for _, size in part) + len(part) * RECORD_BYTES
                self._read_to = part[-1][0]
                self._seen.append((self._read_to, taken_bytes))
                self._seen_bytes += taken_bytes
        if len(self._seen) > MAX_SEEN:
            self._join()

    def forgot(self, up_to: Position) -> None:
        """The log has forgotten what stands up to there."""
        self._first = max(self._first, up_to + 1)
        while self._seen and self._seen[0][0] <= up_to:
            self._seen_bytes -= self._seen.popleft()[1]

    def is_nearly_full(self, limit_bytes: int, record_bytes: int) -> bool:
        """What was read makes it so: with `record_bytes` more, the most that a record may have, the
        log would be over its limit, or there is only a small part left."""
        return self._seen_bytes >= nearly_full_bytes(limit_bytes, record_bytes)

    def may_be_nearly_full(self, limit_bytes: int, record_bytes: int) -> bool:
        """It would be, if what nobody knows here is as large as it can be."""
        unknown = max(0, self._unknown_to - self._first + 1)
        most_bytes = self._seen_bytes + unknown * (record_bytes + RECORD_BYTES)
        return most_bytes >= nearly_full_bytes(limit_bytes, record_bytes)

    def _knows_nothing_before(self, position: Position) -> None:
        self._unknown_to = self._read_to = position
        self._seen.clear()
        self._seen_bytes = 0

    def _join(self) -> None:
        """Of the older half each two as one, which goes with the later of the two."""
        seen = [*self._seen]
        older, newer = seen[: MAX_SEEN // 2], seen[MAX_SEEN // 2 :]
        pairs = zip(older[::2], older[1::2], strict=True)
        joined = [(up_to, one + two) for (_, one), (up_to, two) in pairs]
        self._seen = deque(joined + newer)
