"""Each change of a table in MySQL or MariaDB, by the binary log."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
)
from lockstep.databases.mysql.binlog import (
    LOOK_S,
    PreparedTold,
    Pump,
    RowsTold,
    StatementTold,
    Told,
    check_log,
    file_and_position,
    kept_logs,
)
from lockstep.databases.mysql.connections import connected
from lockstep.databases.values import plain

MOVE_EVERY_MS: Final = 1_000
UNNAMED: Final = "UNKNOWN_COL"
BEGIN: Final = ("BEGIN", "SAVEPOINT")


@dataclass(frozen=True, slots=True)
class Read:
    """A change, or None and a place behind a whole transaction: where one may go on."""

    event: RowEvent | None
    place: int


class Translator:
    """From what the log tells to changes. Pure."""

    def __init__(self, operations: Collection[RowOperation], mark: str, where: str) -> None:
        self._operations = operations
        self._mark = mark
        self._where = where

    def reads(self, told: Told) -> Sequence[Read]:
        """Changes that nobody wants are counted, too."""
        match told:
            case RowsTold():
                return [
                    Read(event, told.place)
                    for number, (before, after) in enumerate(told.rows)
                    if (event := self._event(told.place, number, before, after))
                ]
            case StatementTold() if told.text.upper().startswith(BEGIN):
                return ()
            case PreparedTold():
                return ()
        return [Read(None, told.place)]

    def _event(self, place: int, number: int, before: Any, after: Any) -> RowEvent | None:
        operation = RowOperation.UPDATE
        if before is None:
            operation = RowOperation.INSERT
        elif after is None:
            operation = RowOperation.DELETE
        if operation not in self._operations:
            return None
        entries = entries_of(after, before)
        if any(UNNAMED in name for name in entries):
            raise DatabaseError(
                "the binary log does not name the columns", where=self._where,
                hint="SET GLOBAL binlog_row_metadata = 'FULL', before the changes are made",
            )  # fmt: skip
        id_ = f"{self._mark}/{place >> 32}/{place & 0xFFFFFFFF}/{number}"
        return RowEvent(id_, operation, {name: plain(value) for name, value in entries.items()})


class MysqlListening:
    """See `Listening`. `name`: of this source; `server_id`: as whom it reads. A second reader with
    the same one makes the server hang up on the first."""

    def __init__(
        self,
        datasource: Datasource,
        table: str,
        operations: Collection[RowOperation],
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        server_id: int,
    ) -> None:
        self._datasource = datasource
        self._memory = memory
        self._clock = clock
        self._where = f"{datasource.name}.{table}"
        self._translator = Translator(operations, name[-8:], datasource.name)
        self._server_id = server_id
        schema, _, called = table.rpartition(".")
        self._table = schema or datasource.database, called
        self._pump: Pump[Read] | None = None
        self._at = 0
        self._read_to = 0
        self._moved_ms = 0

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """See `Listening`."""
        if self._pump is None:
            file, position = await self._place()
            self._pump = Pump(
                self._datasource, self._table, self._server_id, file, position,
                self._translator.reads,
            )  # fmt: skip
        until_ms = self._clock.monotonic_ms() + wait_ms
        found: list[RowEvent] = []
        while not found:
            left_s = (until_ms - self._clock.monotonic_ms()) / 1000
            if left_s <= 0:
                break
            first = await asyncio.to_thread(self._pump.next, min(left_s, LOOK_S))
            while first is not None and len(found) < max_rows:
                if first.event is None:
                    self._read_to = max(self._read_to, first.place)
                else:
                    found.append(first.event)
                first = self._pump.next(0) if len(found) < max_rows else None
            if not found and self._clock.monotonic_ms() - self._moved_ms >= MOVE_EVERY_MS:
                await self.settle()  # changes of other tables alone
        return found

    async def _place(self) -> tuple[str, int]:
        """Where to go on; at the very beginning: where the log ends now."""
        async with connected(self._datasource) as connection:
            cursor = await connection.cursor()
            await check_log(cursor, self._where)
            logs = await kept_logs(cursor)
        if not await self._memory.get(BEGUN):
            newest = max(logs)
            await self._memory.put(AT, newest | logs[newest][1])
            await self._memory.put(BEGUN, 1)
        self._read_to = self._at = await self._memory.get(AT)
        return file_and_position(self._at, logs, self._where)

    async def settle(self) -> None:
        """See `Listening`. A transaction that was read in part comes again, under the same ids."""
        if self._read_to > self._at:
            await self._memory.put(AT, self._read_to)
            self._at, self._moved_ms = self._read_to, self._clock.monotonic_ms()

    async def forget(self) -> None:
        """See `Listening`. The server keeps nothing for anybody."""
        await self.close()

    async def close(self) -> None:
        """See `Listening`."""
        pump, self._pump = self._pump, None
        if pump is not None:
            pump.stop()
            await asyncio.to_thread(pump.wait)
