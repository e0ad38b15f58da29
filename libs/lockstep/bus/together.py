"""Records that are appended together: in shares that a carrier takes at once, or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from lockstep.bus.contract import Appended, Coded


class _Appends(Protocol):
    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended: ...


async def one_by_one(log: _Appends, records: Sequence[Coded]) -> list[Appended]:
    """Each is appended when the one before it is durable."""
    return [await log.append_encoded(payload, dedup_id=name) for payload, name in records]


def shares(
    records: Sequence[Coded], *, max_records: int, max_bytes: int
) -> Iterator[Sequence[Coded]]:
    """All records in order, in shares within the limits; one alone may be larger."""
    begin, size_bytes = 0, 0
    for number, (payload, _) in enumerate(records):
        is_full = number - begin == max_records or size_bytes + len(payload) > max_bytes
        if number > begin and is_full:
            yield records[begin:number]
            begin, size_bytes = number, 0
        size_bytes += len(payload)
    if records:
        yield records[begin:]
