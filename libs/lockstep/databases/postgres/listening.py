"""Each change of a PostgreSQL table, by a replication slot that is made when it is first read."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lockstep.clock import Clock
from lockstep.databases.contract import DatabaseError, Memory
from lockstep.databases.datasources import Datasource
from lockstep.databases.listening import (
    AT,
    BEGUN,
    RowEvent,
    RowOperation,
    entries_of,
    place_is_gone,
)
from lockstep.databases.postgres.errors import told
from lockstep.databases.postgres.following import connected
from lockstep.databases.postgres.pgoutput import (
    Commit,
    Deleted,
    Message,
    Relation,
    Values,
    Written,
)
from lockstep.databases.postgres.slots import (
    LOOK_BYTES,
    LOOK_TIMEOUT_MS,
    advance,
    create_slot,
    drop_for_good,
    drop_slots,
    flushed,
    has_slot,
    lsn_number,
    lsn_text,
    peek,
    publish,
    unpublish,
)
from lockstep.databases.postgres.values import quoted

POLL_MS: Final = 200
MOVE_EVERY_MS: Final = 1_000
"""So often the server may forget what is of no use to this table."""


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


_READERS: Final[Mapping[int, Callable[[str], Any]]] = {
    16: lambda text: text == "t",
    20: int,
    21: int,
    23: int,
    700: _number,
    701: _number,
    1042: lambda text: text.rstrip(" "),
}
"""By the number of a column's type; other types are the texts that the server gives."""


@dataclass(slots=True)
class Transaction:
    """What a transaction did to the table; `end`: the place behind it."""

    end: int
    events: list[RowEvent] = field(default_factory=list)


class RowReader:
    """From messages to changes. Keeps the columns of the table from call to call. Pure."""

    def __init__(self, relation: int, operations: Collection[RowOperation], mark: str) -> None:
        self._relation = relation
        self._operations = operations
        self._mark = mark
        self._columns: Sequence[tuple[str, Callable[[str], Any]]] = ()

    def transactions(self, messages: Iterable[Message | None]) -> Iterator[Transaction]:
        """Whole ones, in the order of their commits. Changes that nobody wants are counted, too."""
        changes: list[Written | Deleted] = []
        for message in messages:
            match message:
                case Relation() if message.number == self._relation:
                    self._columns = [
                        (name, _READERS.get(kind, str))
                        for name, kind in zip(message.columns, message.types, strict=True)
                    ]
                case Written() | Deleted() if message.relation == self._relation:
                    changes.append(message)
                case Commit():
                    events = [self._event(one, message.end, n) for n, one in enumerate(changes)]
                    wanted = [one for one in events if one.operation in self._operations]
                    yield Transaction(message.end, wanted)
                    changes = []

    def _event(self, message: Written | Deleted, end: int, number: int) -> RowEvent:
        id_ = f"{self._mark}/{lsn_text(end)}/{number}"
        if isinstance(message, Deleted):
            before = self._row(message.before)
            return RowEvent(id_, RowOperation.DELETE, entries_of(None, before))
        row = self._row(message.row)
        if message.is_new:
            return RowEvent(id_, RowOperation.INSERT, entries_of(row, None))
        # Without an old image the server tells nothing of the row as it was.
        before = dict.fromkeys(name for name, _ in self._columns)
        if message.before is not None:
            before |= self._row(message.before)
        return RowEvent(id_, RowOperation.UPDATE, entries_of(row, before))

    def _row(self, values: Values) -> dict[str, Any]:
        """By columns, without those large ones that the server did not send."""
        found: dict[str, Any] = {}
        for (name, read), value in zip(self._columns, values, strict=True):
            if value is None:
                found[name] = None
            elif isinstance(value, str):
                found[name] = read(value)
        return found


class PostgresListening:
    """See `Listening`. `name`: of this source, for its slot and its publication."""

    def __init__(
        self,
        datasource: Datasource,
        table: str,
        operations: Collection[RowOperation],
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        publication: str | None,
    ) -> None:
        self._datasource = datasource
        self._table = table
        self._operations = operations
        self._name = name
        self._memory = memory
        self._clock = clock
        self._given = publication
        self._publication = publication or name
        self._where = f"{datasource.name}.{table}"
        self._connection: Any = None
        self._reader: RowReader | None = None
        self._waiting: deque[RowEvent] = deque()
        self._at = 0
        self._read_to = 0
        self._moved_ms = 0
        self._is_under_way = False

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """See `Listening`."""
        until_ms = self._clock.monotonic_ms() + wait_ms
        async with told(self._where):
            if self._connection is None:
                await self._open()
            while not self._waiting:
                is_behind = await self._look()
                if self._waiting or self._clock.monotonic_ms() + POLL_MS > until_ms:
                    break
                if not is_behind:
                    await self._clock.sleep_ms(POLL_MS)
        found = [self._waiting.popleft() for _ in range(min(max_rows, len(self._waiting)))]
        self._is_under_way = self._is_under_way or bool(found)
        return found

    async def _open(self) -> None:
        connection = await connected(self._datasource, LOOK_TIMEOUT_MS)
        try:
            table = quoted(self._table)
            relation = await connection.fetchval("SELECT to_regclass($1)::oid::int8", table)
            if relation is None:
                raise DatabaseError(
                    f"there is no table {self._table!r}", where=self._where, hint="table.name='…'"
                )
            await self._take_slot(connection)
            # The one before may have noted the place and not moved the slot.
            at = await self._memory.get(AT)
            await advance(connection, self._name, at)
        except BaseException:
            connection.terminate()
            raise
        self._reader = RowReader(relation, self._operations, self._name[-8:])
        self._connection = connection
        self._read_to = self._at = at

    async def _take_slot(self, connection: Any) -> None:
        """What is committed from here on is read. After that the slot has to be there."""
        there = await has_slot(connection, self._name)
        if await self._memory.get(BEGUN):
            if not there:
                raise place_is_gone(self._where, f"the replication slot {self._name} is gone")
            return
        await publish(connection, self._table, self._name, self._given, self._where)
        if there:  # made by somebody who died before noting it
            await drop_slots(connection, [self._name])
        begun = await create_slot(connection, self._name)
        await self._memory.put(AT, lsn_number(begun))
        await self._memory.put(BEGUN, 1)

    async def _look(self) -> bool:
        """The next transactions; while there are none, the server may forget what it has. True
        where there is more to look at."""
        assert self._reader is not None
        now = await flushed(self._connection)
        up_to = min(now, self._read_to + LOOK_BYTES)
        seen = await peek(self._connection, self._name, up_to, self._publication)
        # On a thread: a large transaction takes seconds.
        found = await asyncio.to_thread(list, self._reader.transactions(seen.messages))
        for one in found:
            if one.end > self._read_to:
                self._waiting.extend(one.events)
        is_further, self._read_to = seen.end > self._read_to, max(self._read_to, seen.end)
        is_behind = is_further and self._read_to < now
        is_due = self._clock.monotonic_ms() - self._moved_ms >= MOVE_EVERY_MS
        if not self._waiting and not self._is_under_way and (is_behind or is_due):
            await self.settle()
        return is_behind

    async def settle(self) -> None:
        """See `Listening`. A transaction that was read in part stays where it is."""
        self._is_under_way = False
        if self._connection is None or self._waiting or self._read_to <= self._at:
            return
        async with told(self._where):
            await self._memory.put(AT, self._read_to)
            self._at = self._read_to
            self._moved_ms = self._clock.monotonic_ms()
            await advance(self._connection, self._name, self._at)

    async def forget(self) -> None:
        """See `Listening`."""
        await self.close()
        async with told(self._where):
            connection = await connected(self._datasource)
            try:
                await drop_for_good(connection, self._name, self._clock)
                if self._given is None:
                    await unpublish(connection, self._name)
            finally:
                connection.terminate()

    async def close(self) -> None:
        """See `Listening`."""
        connection, self._connection = self._connection, None
        self._waiting.clear()
        self._is_under_way = False
        if connection is not None:
            connection.terminate()
