"""Each change of a table in MySQL or MariaDB, by the binary log: the server sends it as to a
replica.

The reader blocks, so it has a thread of its own. The server sends a sign of life each half second,
so the thread sees soon that it has to end.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import struct
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import (
    HeartbeatLogEvent,
    NotImplementedEvent,
    QueryEvent,
    RotateEvent,
    XidEvent,
)
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    PartialUpdateRowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

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
from lockstep.databases.mysql import check_encrypted, connected, parameters_of, passes
from lockstep.databases.values import plain
from lockstep.events import LockstepError, UnavailableError

MAX_WAITING: Final = 1_024
"""Changes that were read and not yet taken; then the server waits."""
MAX_CONNECTIONS: Final = 2
HEARTBEAT_S: Final = 0.5
SILENCE_S: Final = 10
"""After so long without a sign of life the connection is lost."""
LOOK_S: Final = 0.2
MOVE_EVERY_MS: Final = 1_000
UNNAMED: Final = "UNKNOWN_COL"
BEGIN: Final = ("BEGIN", "SAVEPOINT")
_GONE: Final = 1236
"""What the server says when it has not the place from which it shall send."""
_WANTED: Final = {"binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
_UNWANTED: Final = ("log_bin_compress", "binlog_transaction_compression")
_COMPRESSED: Final = frozenset({40, *range(165, 172)})
"""Kinds of events that hold rows and that the reader passes over: MySQL's transactions that are
compressed as a whole, MariaDB's compressed queries and rows."""
_DAMAGED: Final = (ValueError, LookupError, TypeError, AttributeError, struct.error)

logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)  # our errors say what breaks


@dataclass(frozen=True, slots=True)
class _Read:
    """A change, or None and a place behind a whole transaction: where one may go on."""

    event: RowEvent | None
    place: int


def place_number(file: str, position: int) -> int:
    """A place in the binary log as a number that grows: the file's number, then the position."""
    return (int(file.rpartition(".")[2]) << 32) | position


class Pump:
    """Reads the log on a thread until it is told to stop, or until it breaks; then `error` says
    why. It begins at `file` and `position`."""

    def __init__(
        self,
        datasource: Datasource,
        table: str,
        operations: Collection[RowOperation],
        server_id: int,
        mark: str,
        file: str,
        position: int,
    ) -> None:
        schema, _, name = table.rpartition(".")
        self.error: LockstepError | None = None
        self.found: queue.Queue[_Read] = queue.Queue(MAX_WAITING)
        self._datasource = datasource
        self._operations = operations
        self._mark = mark
        self._ending = threading.Event()
        self._connections = 0
        self._reader = BinLogStreamReader(
            {**parameters_of(datasource), "read_timeout": SILENCE_S},
            server_id,
            resume_stream=True,
            blocking=True,
            log_file=file,
            log_pos=position,
            filter_non_implemented_events=False,
            only_tables=[name],
            only_schemas=[schema or datasource.database],
            only_events=[
                WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent, XidEvent, QueryEvent,
                RotateEvent, HeartbeatLogEvent, NotImplementedEvent, PartialUpdateRowsEvent,
            ],
            slave_heartbeat=HEARTBEAT_S,
            pymysql_wrapper=self._connect,
            enable_logging=False,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, name="binlog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """It ends within half a second."""
        self._ending.set()

    def wait(self) -> None:
        """Until it has ended; on a thread that may wait."""
        self._thread.join(SILENCE_S)

    def _connect(self, **given: Any) -> Any:
        """Once for the log and once for questions: the reader mends a break in silence, at a place
        that may lie within a statement."""
        self._connections += 1
        if self._connections > MAX_CONNECTIONS:
            raise pymysql.OperationalError(2013, "the connection is lost")
        connection = pymysql.connect(database=given.pop("db"), **given)
        check_encrypted(connection, self._datasource)
        return connection

    def _run(self) -> None:
        where = self._datasource.name
        try:
            while not self._ending.is_set():
                event = self._reader.fetchone()
                if event is None:
                    raise UnavailableError("the server ended the binary log", where=where)
                for one in self._changes(event):
                    self._put(one)
        except LockstepError as error:
            self.error = error
        except (pymysql.MySQLError, OSError) as error:
            self.error = _trouble(error, where)
        except _DAMAGED as error:
            self.error = DatabaseError(
                f"a change in the binary log cannot be read: {type(error).__name__}: {error}",
                where=where,
            )
        finally:
            self._reader.close()

    def _put(self, one: _Read) -> None:
        while not self._ending.is_set():
            try:
                self.found.put(one, timeout=LOOK_S)
            except queue.Full:
                continue
            return

    def _changes(self, event: Any) -> Sequence[_Read]:
        if isinstance(event, HeartbeatLogEvent):
            return ()
        if isinstance(event, (NotImplementedEvent, PartialUpdateRowsEvent)):
            self._check_readable(event)
            return ()
        place = place_number(self._reader.log_file, self._reader.log_pos)
        if isinstance(event, QueryEvent):
            query = event.query if isinstance(event.query, str) else event.query.decode()
            return () if query.upper().startswith(BEGIN) else [_Read(None, place)]
        if isinstance(event, (XidEvent, RotateEvent)):
            return [_Read(None, place)]
        rows = enumerate(event.rows)
        return [_Read(one, place) for n, row in rows if (one := self._row(event, row, place, n))]

    def _check_readable(self, event: Any) -> None:
        """What cannot be read is told: passed over it would be lost."""
        if isinstance(event, PartialUpdateRowsEvent):
            why, hint = "holds parts of rows", "SET GLOBAL binlog_row_value_options = ''"
        elif event.event_type in _COMPRESSED:
            why = "is compressed"
            hint = " or ".join(f"SET GLOBAL {name} = 'OFF'" for name in _UNWANTED)
        else:
            return
        raise DatabaseError(f"the binary log {why}", where=self._datasource.name, hint=hint)

    def _row(self, event: Any, row: dict[str, Any], place: int, number: int) -> RowEvent | None:
        id_ = f"{self._mark}/{place >> 32}/{place & 0xFFFFFFFF}/{number}"
        if isinstance(event, UpdateRowsEvent):
            operation, before, after = (
                RowOperation.UPDATE,
                row["before_values"],
                row["after_values"],
            )
        elif isinstance(event, DeleteRowsEvent):
            operation, before, after = RowOperation.DELETE, row["values"], None
        else:
            operation, before, after = RowOperation.INSERT, None, row["values"]
        if operation not in self._operations:
            return None
        entries = entries_of(after, before)
        if any(UNNAMED in name for name in entries):
            raise DatabaseError(
                "the binary log does not name the columns", where=self._datasource.name,
                hint="SET GLOBAL binlog_row_metadata = 'FULL', before the changes are made",
            )  # fmt: skip
        return RowEvent(id_, operation, {name: plain(value) for name, value in entries.items()})


def _trouble(error: pymysql.MySQLError | OSError, where: str) -> LockstepError:
    if isinstance(error, OSError) or passes(error):
        return UnavailableError(f"the database is away: {error}", where=where)
    if error.args and error.args[0] == _GONE:
        return place_is_gone(where, str(error))
    hint = "the user needs REPLICATION SLAVE and REPLICATION CLIENT (BINLOG MONITOR)"
    return DatabaseError(str(error), where=where, hint=hint)


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
        self._make: Callable[[str, int], Pump] = lambda file, position: Pump(
            datasource, table, operations, server_id, name[-8:], file, position
        )
        self._pump: Pump | None = None
        self._at = 0
        self._read_to = 0
        self._moved_ms = 0

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """See `Listening`."""
        if self._pump is None:
            self._pump = self._make(*await self._place())
        until_ms = self._clock.monotonic_ms() + wait_ms
        found: list[RowEvent] = []
        while not found:
            left_s = (until_ms - self._clock.monotonic_ms()) / 1000
            if left_s <= 0:
                break
            first = await asyncio.to_thread(self._next, self._pump, min(left_s, LOOK_S))
            while first is not None and len(found) < max_rows:
                if first.event is None:
                    self._read_to = max(self._read_to, first.place)
                else:
                    found.append(first.event)
                first = self._next(self._pump, 0) if len(found) < max_rows else None
            if not found and self._clock.monotonic_ms() - self._moved_ms >= MOVE_EVERY_MS:
                await self.settle()  # changes of other tables alone
        return found

    def _next(self, pump: Pump, wait_s: float) -> _Read | None:
        try:
            return pump.found.get(timeout=wait_s) if wait_s else pump.found.get_nowait()
        except queue.Empty:
            if pump.error is not None and pump.found.empty():
                raise pump.error from None
            return None

    async def _place(self) -> tuple[str, int]:
        """Where to go on; at the very beginning: where the log ends now."""
        async with connected(self._datasource) as connection:
            cursor = await connection.cursor()
            await self._check(cursor)
            await cursor.execute("SHOW BINARY LOGS")
            logs = {place_number(str(row[0]), 0): row for row in await cursor.fetchall()}
        if not await self._memory.get(BEGUN):
            newest = max(logs)
            await self._memory.put(AT, newest | int(logs[newest][1]))
            await self._memory.put(BEGUN, 1)
        self._read_to = self._at = await self._memory.get(AT)
        log = logs.get(self._at >> 32 << 32)
        position = self._at & 0xFFFFFFFF
        if log is None or position > int(log[1]):
            raise place_is_gone(
                self._where, f"the binary log {self._at >> 32:06d} has no {position} any more"
            )
        return str(log[0]), position

    async def _check(self, cursor: Any) -> None:
        """What the server writes has to be whole."""
        await cursor.execute("SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%bin%'")
        found = {str(name).lower(): str(value).upper() for name, value in await cursor.fetchall()}
        if found.get("log_bin") != "ON":
            raise DatabaseError(
                "the server keeps no binary log", where=self._where, hint="start it with log_bin"
            )
        for name, wanted in _WANTED.items():
            if found.get(name) != wanted:
                raise DatabaseError(
                    f"the server has {name}={found.get(name)}", where=self._where,
                    hint=f"SET GLOBAL {name} = '{wanted}', and in the server's own settings",
                )  # fmt: skip

        for name in _UNWANTED:
            if found.get(name) == "ON":
                raise DatabaseError(
                    f"the server has {name}=ON", where=self._where,
                    hint=f"SET GLOBAL {name} = 'OFF', and in the server's own settings",
                )  # fmt: skip

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
