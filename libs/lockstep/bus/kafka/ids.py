"""Which records of a log count, where several writers may bring the same one.

Before a writer appends a record with a dedup id, it looks through the log up to its end for that
id, and the record bears how far (`checked`). Between that place and the record's own somebody else
may have been faster. So a record is void exactly if one between the two has its id. That can be
seen from the log alone, and every reader sees the same.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from lockstep.bus.kafka.window import Raw

ID: Final = "id"
CHECKED: Final = "checked"
BYTES: Final = "bytes"
WRITER: Final = "writer"

_MAX_IDS: Final = 50_000


def id_of(raw: Raw) -> bytes | None:
    """The record's dedup id."""
    return raw.headers.get(ID)


def total_of(raw: Raw) -> int:
    """The bytes of the log up to this record, as its writer counted them."""
    return int(raw.headers[BYTES])


class Counting:
    """Follows a log: the ids of the records from `since` on. The next record is at `place`."""

    def __init__(self, place: int) -> None:
        self.since = self.place = place
        self._ids: OrderedDict[bytes, int] = OrderedDict()

    def lacks(self, raw: Raw) -> int | None:
        """From which place on the ids have to be known to judge this record, if that is earlier."""
        if id_of(raw) is None:
            return None
        checked = int(raw.headers[CHECKED])
        return checked if checked < self.since else None

    def learn(self, earlier: list[Raw], since: int) -> None:
        """The records between `since` and where it began."""
        ids = OrderedDict((each, raw.offset) for raw in earlier if (each := id_of(raw)) is not None)
        ids.update(self._ids)
        self._ids, self.since = ids, since

    def take(self, raw: Raw) -> bool:
        """Whether the next record counts."""
        self.place = raw.offset + 1
        own = id_of(raw)
        if own is None:
            return True
        other = self._ids.get(own)
        if other is not None and other >= int(raw.headers[CHECKED]):
            return False
        self._ids.pop(own, None)
        self._ids[own] = raw.offset
        while len(self._ids) > _MAX_IDS:
            self.since = self._ids.popitem(last=False)[1] + 1
        return True


class Known:
    """What a writer knows of a log: the ids of the last `window_ms`, of all records in front of
    `reached`."""

    def __init__(self, reached: int, window_ms: int) -> None:
        self.reached = reached
        self._window_ms = window_ms
        self._ids: OrderedDict[bytes, tuple[int, int]] = OrderedDict()
        self._own: dict[int, tuple[bytes | None, int, int]] = {}

    def find(self, dedup_id: bytes, now_ms: int) -> int | None:
        """The offset of the record that has this id. All times are those of the log's brokers."""
        offset, at_ms = self._ids.get(dedup_id, (None, 0))
        return offset if at_ms >= now_ms - self._window_ms else None

    def take(self, raw: Raw) -> None:
        """A record that was read, in order."""
        if raw.offset < self.reached:
            return
        checked = int(raw.headers.get(CHECKED, b"0"))
        self._note(raw.offset, id_of(raw), raw.timestamp_ms, checked)
        self._catch_up()

    def stored(self, offset: int, dedup_id: bytes | None, at_ms: int, checked: int) -> None:
        """A record of our own stands there now; `checked` is what it bears."""
        if offset >= self.reached:
            self._own[offset] = (dedup_id, at_ms, checked)
            self._catch_up()

    def _catch_up(self) -> None:
        while (own := self._own.pop(self.reached, None)) is not None:
            self._note(self.reached, *own)
        if self._own and next(iter(self._own)) < self.reached:
            self._own = {k: v for k, v in self._own.items() if k >= self.reached}

    def _note(self, offset: int, dedup_id: bytes | None, at_ms: int, checked: int) -> None:
        self.reached = offset + 1
        if dedup_id is None:
            return
        there = self._ids.get(dedup_id)
        if there is not None and there[0] >= checked:
            return
        self._ids.pop(dedup_id, None)
        self._ids[dedup_id] = (offset, at_ms)
        while next(iter(self._ids.values()))[1] < at_ms - self._window_ms:
            self._ids.popitem(last=False)
