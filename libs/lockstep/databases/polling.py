"""New rows of a table, found by a column whose values grow: whole numbers, or times.

What is asked is in `question_of`; what of the answer may be taken is in `taken`. Both are pure.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lockstep.clock import Clock
from lockstep.databases.contract import DatabaseError, Memory, ReadRows
from lockstep.databases.datasources import Datasource
from lockstep.databases.listening import AT, BEGUN, RowEvent, RowOperation
from lockstep.databases.mysql import connections as mysql
from lockstep.databases.postgres import values as postgres
from lockstep.databases.sqlite import values as sqlite

ROWS_AT_ONCE: Final = 5_000
SAME_VALUE_MAX_ROWS: Final = 100_000
"""Of one value of the column all rows have to come at once."""
Ask = Callable[[str, int], Awaitable[ReadRows]]
"""A SELECT and how many rows are wanted at most."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TIME: Final = 1 << 62
"""Added to the place of a time, so that numbers and times are not taken for one another."""
_AT_UTC: Final = "at_utc"
"""The place in MySQL and MariaDB. An older Lockstep noted it as `AT`, by the server's own zone."""

_QUOTING: Final = {
    "postgresql": postgres.quoted,
    "mysql": mysql.quoted,
    "sqlite": sqlite.quoted,
}


def place_of(value: Any, column: str) -> int:
    """A value of the column as a number that is remembered: 1 or more, and it grows with it."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TIME - 1:
        return value + 1
    if isinstance(value, str) and value[4:5] == "-":
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            time = None
        if time is not None:
            micros = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
            if micros >= timedelta():
                return _TIME + micros // _MICROSECOND + 1
    raise DatabaseError(
        f"polling.column={column!r} holds {value!r}",
        hint="poll a column of whole numbers from 0 on, or of times from 1970 on; for others there"
        " is mode='listening'",
    )


def literal_of(place: int, kind: str) -> str:
    """The value of a place, as SQL writes it."""
    if place < _TIME:
        return str(place - 1)
    time = _EPOCH + (place - _TIME - 1) * _MICROSECOND
    text = time.strftime("%Y-%m-%d %H:%M:%S.%f")
    # Where the column has no zone, PostgreSQL leaves the zone out.
    return f"'{text}+00'" if kind == "postgresql" else f"'{text}'"


def question_of(table: str, column: str, kind: str, at: int, max_rows: int) -> str:
    """The rows behind a place, in order; 0: all of them."""
    quoted = quoting(kind)
    behind = f"> {literal_of(at, kind)}" if at else "IS NOT NULL"
    return (
        f"SELECT * FROM {quoted(table)} WHERE {quoted(column)} {behind}"  # noqa: S608 - quoted
        f" ORDER BY {quoted(column)} LIMIT {max_rows}"
    )


def in_utc(table: str, column: str, place: int) -> str:
    """Asks MySQL or MariaDB for a time in UTC, of which it is known what the server's own zone
    called it. Of an hour that came twice the earlier one is taken: better told twice than lost.
    Only timestamps have a zone."""
    schema, _, name = table.rpartition(".")
    of_table = f"TABLE_SCHEMA = {_text(schema) if schema else 'DATABASE()'}"
    told = literal_of(place, "mysql")
    zone = "@@GLOBAL.time_zone, '+00:00'"
    earlier = f"CONVERT_TZ({told} - INTERVAL 1 HOUR, {zone}) + INTERVAL 1 HOUR"
    return (
        "SELECT IF(EXISTS(SELECT 1 FROM information_schema.COLUMNS"  # noqa: S608 - only literals
        f" WHERE {of_table} AND TABLE_NAME = {_text(name)} AND COLUMN_NAME = {_text(column)}"
        f" AND DATA_TYPE <> 'timestamp'), {told}, LEAST(CONVERT_TZ({told}, {zone}), {earlier}))"
        " AS noted"
    )


def _text(text: str) -> str:
    """As MySQL reads it whatever is in it."""
    return f"_utf8mb4 0x{text.encode().hex()}"


def quoting(kind: str) -> Callable[[str], str]:
    """How names are written in a kind of database."""
    return _QUOTING[kind]


def taken(
    rows: Sequence[Mapping[str, Any]], column: str, is_cut: bool, settled: int
) -> list[tuple[int, Mapping[str, Any]]]:
    """Those that may be taken now, with their places, in order.

    Of a value all rows are taken at once. So where the answer was cut, those of its last value
    wait. Those of a time wait until nothing newer than `settled` stands there: in the same second
    more may come.
    """
    placed = [(place_of(row[column], column), row) for row in rows]
    placed.sort(key=lambda one: one[0])
    if not placed:
        return []
    last = placed[-1][0]
    waits = is_cut or (last > _TIME and last > settled)
    return [one for one in placed if not (waits and one[0] == last)]


def events_of(placed: Sequence[tuple[int, Mapping[str, Any]]], mark: str) -> list[RowEvent]:
    """With identities of the polled value and the row, whatever order rows of one value have."""
    counted: dict[str, int] = {}
    found = []
    for place, row in placed:
        text = json.dumps(dict(row), sort_keys=True, default=str)
        name = f"{mark}/{place}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        number = counted.get(name, 0)
        counted[name] = number + 1
        found.append(RowEvent(f"{name}/{number}", RowOperation.INSERT, row))
    return found


class Polling:
    """See `Listening`: rows of any database that can be read, each `interval_ms`. Updates look
    like inserts; what a row was, and what was deleted, it cannot know."""

    def __init__(
        self,
        datasource: Datasource,
        ask: Ask,
        table: str,
        column: str,
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        interval_ms: int,
    ) -> None:
        self._kind = datasource.kind
        self._noted = _AT_UTC if datasource.kind == "mysql" else AT
        self._ask = ask
        self._table = table
        self._column = column
        self._mark = name[-8:]
        self._memory = memory
        self._clock = clock
        self._interval_ms = interval_ms
        self._where = f"{datasource.name}.{table}"
        self._waiting: deque[RowEvent] = deque()
        self._is_open = False
        self._at = 0
        self._read_to = 0
        self._settled = 0
        self._next_ms = 0

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """See `Listening`."""
        until_ms = self._clock.monotonic_ms() + wait_ms
        while not self._waiting:
            now_ms = self._clock.monotonic_ms()
            if now_ms < self._next_ms:
                await self._clock.sleep_ms(max(0, min(self._next_ms, until_ms) - now_ms))
                if self._clock.monotonic_ms() >= until_ms:
                    break
                continue
            self._next_ms = now_ms + self._interval_ms
            await self._poll()
        return [self._waiting.popleft() for _ in range(min(max_rows, len(self._waiting)))]

    async def _poll(self) -> None:
        if not self._is_open:
            await self._begin()
        most = ROWS_AT_ONCE
        while True:
            rows, is_cut = await self._rows(self._read_to, most)
            placed = taken(rows, self._column, is_cut, self._settled)
            if placed or not is_cut:
                break
            if most == SAME_VALUE_MAX_ROWS:
                raise DatabaseError(
                    f"more than {most} rows have the same value of {self._column!r}",
                    where=self._where, hint="poll a column that tells rows apart",
                )  # fmt: skip
            most = SAME_VALUE_MAX_ROWS
        places = [place_of(row[self._column], self._column) for row in rows[-1:]]
        self._settled = max([self._settled, *places])
        self._waiting.extend(events_of(placed, self._mark))
        if placed:
            self._read_to = placed[-1][0]
        if is_cut:
            self._next_ms = 0  # there is more

    async def _rows(self, at: int, most: int) -> tuple[list[Mapping[str, Any]], bool]:
        """Behind a place, and whether there are more."""
        asked = question_of(self._table, self._column, self._kind, at, most + 1)
        found = await self._ask(asked, most)
        if self._column not in found.columns:
            raise DatabaseError(
                f"table {self._table!r} has no column {self._column!r}", where=self._where,
                hint="polling.column='…'",
            )  # fmt: skip
        rows: list[Mapping[str, Any]] = [
            dict(zip(found.columns, row, strict=True)) for row in found.rows
        ]
        for row in rows[-1:]:
            self._check_number(row[self._column])
        return rows, found.is_cut

    def _check_number(self, value: Any) -> None:
        """SQLite has no times, and the texts that stand for them have no one order."""
        if self._kind == "sqlite" and isinstance(value, str):
            raise DatabaseError(
                f"polling.column={self._column!r} holds {value!r}", where=self._where,
                hint="of SQLite a column of whole numbers is polled",
            )  # fmt: skip

    async def _begin(self) -> None:
        """At the very beginning: behind the greatest value that is there."""
        quoted = quoting(self._kind)
        greatest = f"SELECT MAX({quoted(self._column)}) FROM {quoted(self._table)}"  # noqa: S608
        value = (await self._ask(greatest, 1)).rows[0][0]
        self._check_number(value)
        if not await self._memory.get(BEGUN):
            if value is not None:
                await self._memory.put(self._noted, place_of(value, self._column))
            await self._memory.put(BEGUN, 1)
        noted = await self._memory.get(self._noted) or await self._noted_before()
        self._read_to = self._at = noted
        self._is_open = True

    async def _noted_before(self) -> int:
        """By an older Lockstep, if there was one; see `in_utc`."""
        place = await self._memory.get(AT)
        if place > _TIME:
            asked = in_utc(self._table, self._column, place)
            place = place_of((await self._ask(asked, 1)).rows[0][0], self._column)
        await self._memory.put(self._noted, place)
        return place

    async def settle(self) -> None:
        """See `Listening`."""
        if not self._waiting and self._read_to > self._at:
            await self._memory.put(self._noted, self._read_to)
            self._at = self._read_to

    async def forget(self) -> None:
        """See `Listening`. The database keeps nothing for anybody."""

    async def close(self) -> None:
        """See `Listening`. Each question has a connection of its own."""
