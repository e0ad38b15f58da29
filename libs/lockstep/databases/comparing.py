"""A table that keeps no record of its changes, followed by comparing what it holds now with what it
held before.

Nobody but this follower knows what the log has. So whoever begins reads the whole table and begins
with "all rows are gone". Before that it takes the id under which the one before it would append
next: what that one may still send is in the log already, then, and is not taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from lockstep.clock import Clock
from lockstep.databases.contract import (
    ChangeBatch,
    DatabaseError,
    Memory,
    RowChange,
    TableShape,
    batch_of,
)
from lockstep.events import UnavailableError

MAX_COMPARED_ROWS: Final = 100_000
"""Of a table: it is read whole at each look at which it may be another, and kept in memory."""
BATCH_ROWS: Final = 4_096
BATCH_BYTES: Final = 131_072
"""About so much goes into the log together. It has to be one record: the id of a batch that the log
takes in part could not be taken from it any more."""
VALUE_BYTES: Final = 8
IDS_TRIED: Final = 100
AT: Final = "at"
"""What a follower remembers: its load, and the number of the last batch that is durable."""
_LOAD: Final = 1 << 32

Row = tuple[Any, ...]
Change = tuple[RowChange, Row]


class Looking(Protocol):
    """A table that is read whole, again and again. Errors: UnavailableError, DatabaseError."""

    async def look(self) -> Mapping[Row, Row] | None:
        """All rows by their keys; None where the table is surely what it was at the last look."""

    async def close(self) -> None:
        """Gives the connection back; idempotent."""


def by_key(rows: Iterable[Row], shape: TableShape, where: str) -> dict[Row, Row]:
    """Rows by their keys. DatabaseError where they are too many, or no key tells two apart."""
    places = shape.key_places
    found: dict[Row, Row] = {}
    for row in rows:
        key = tuple(row[place] for place in places)
        if None in key or key in found:
            named = ", ".join(shape.key)
            raise DatabaseError(
                f"{named} of a row is null" if None in key else f"two rows have {named}={key!r}",
                where=where,
                hint="name columns in @PrimaryKey that tell the rows apart",
            )
        found[key] = row
        if len(found) > MAX_COMPARED_ROWS:
            raise DatabaseError(
                f"it has more than {MAX_COMPARED_ROWS} rows, and is compared as a whole",
                where=where,
                hint="mode='lookup', or a PostgreSQL database, which tells its changes",
            )
    return found


def differences(
    before: Mapping[Row, Row], now: Mapping[Row, Row], shape: TableShape
) -> list[Change]:
    """What makes the one of the other; of each key one change at most."""
    gone = [_gone(key, shape) for key in before if key not in now]
    return gone + [(RowChange.ROW, row) for key, row in now.items() if before.get(key) != row]


def _gone(key: Row, shape: TableShape) -> Change:
    places = shape.key_places
    row = [None] * len(shape.columns)
    for place, value in zip(places, key, strict=True):
        row[place] = value
    return RowChange.GONE, tuple(row)


def parts_of(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """In the same order, each part small enough for a record."""
    part: list[Change] = []
    size = 0
    for change in changes:
        bytes_ = sum(map(_size, change[1]))
        if part and (len(part) == BATCH_ROWS or size + bytes_ > BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(change)
        size += bytes_
    if part:
        yield part


def _size(value: Any) -> int:
    text = len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0
    return VALUE_BYTES + text


class ComparingFollowing:
    """See `Following`. `name`: of this app and table, in the ids of what is appended."""

    def __init__(
        self,
        looking: Looking,
        shape: TableShape,
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        where: str,
        poll_ms: int,
    ) -> None:
        self._looking = looking
        self._shape = shape
        self._name = name
        self._memory = memory
        self._clock = clock
        self._where = where
        self._poll_ms = poll_ms
        self._was_there = False
        self._none = tuple(None for _ in shape.columns)

    async def changes(self) -> AsyncIterator[ChangeBatch | None]:
        """See `Following`. Nothing is appended before the table could be read."""
        before = await self._look({})
        load, number = divmod(await self._memory.get(AT), _LOAD)
        if load:
            async for batch in self._shut_out(load, number):
                yield batch
        load, number = load + 1, 0
        await self._memory.put(AT, load * _LOAD)
        rows = [(RowChange.ROW, row) for row in before.values()]
        chunks: list[Sequence[Change]] = [[(RowChange.ALL_GONE, self._none)]]
        for part in parts_of(rows) if rows else ([],):
            number += 1
            yield self._batch(load, number, [*chunks, part])
            await self._note(load, number)
            chunks = []
        while True:
            yield None
            await self._clock.sleep_ms(self._poll_ms)
            now = await self._look(before)
            for part in await asyncio.to_thread(self._parts, before, now):
                number += 1
                yield self._batch(load, number, [part])
                await self._note(load, number)
            before = now

    def told(self, *, was_there: bool) -> None:
        """See `Following`."""
        self._was_there = was_there

    async def forget(self) -> None:
        """See `Following`. The database keeps nothing for anybody."""

    async def close(self) -> None:
        """See `Following`."""
        await self._looking.close()

    def _parts(self, before: Mapping[Row, Row], now: Mapping[Row, Row]) -> list[Sequence[Change]]:
        """On a thread: of many rows it takes a while."""
        return [] if now is before else list(parts_of(differences(before, now, self._shape)))

    async def _look(self, before: Mapping[Row, Row]) -> Mapping[Row, Row]:
        found = await self._looking.look()
        return before if found is None else found

    async def _shut_out(self, load: int, number: int) -> AsyncIterator[ChangeBatch]:
        """Takes the next id of the follower before this one. It may have used one that it could not
        note any more; it uses no other before it has heard of this one."""
        for each in range(number + 1, number + 1 + IDS_TRIED):
            yield self._batch(load, each, [[(RowChange.NOTHING, self._none)]])
            if not self._was_there:
                return
        raise self._replaced()

    async def _note(self, load: int, number: int) -> None:
        if self._was_there:
            raise self._replaced()
        await self._memory.put(AT, load * _LOAD + number)

    def _replaced(self) -> UnavailableError:
        return UnavailableError(
            "another receiver has begun to follow this table", where=self._where
        )

    def _batch(self, load: int, number: int, chunks: Sequence[Sequence[Change]]) -> ChangeBatch:
        return batch_of(f"{self._name}/{load}/{number}", chunks, len(self._none), None)
