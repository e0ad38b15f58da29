"""Records that are appended together: in shares that a carrier takes at once, or one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from lockstep.bus.contract import Appended, Coded


async def one_by_one(
    append: Callable[[Coded], Awaitable[Appended]], records: Sequence[Coded]
) -> list[Appended]:
    """Each is appended when the one before it is durable."""
    return [await append(each) for each in records]


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
