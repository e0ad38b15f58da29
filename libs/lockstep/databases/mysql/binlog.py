"""The binary log of a MySQL or MariaDB server, which sends it as to a replica.

The reader blocks, so it has a thread of its own. The server sends a sign of life each half second,
so the thread sees soon that it has to end.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants.NONE_SOURCE import COLS_BITMAP
from pymysqlreplication.event import (
    FormatDescriptionEvent,
    HeartbeatLogEvent,
    NotImplementedEvent,
    QueryEvent,
    RotateEvent,
    XAPrepareEvent,
    XidEvent,
)
from pymysqlreplication.row_event import (
    DeleteRowsEvent,
    PartialUpdateRowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)

from lockstep.databases.contract import DatabaseError
from lockstep.databases.datasources import Datasource
from lockstep.databases.listening import place_is_gone
from lockstep.databases.mysql.connections import UTC, check_encrypted, parameters_of, passes
from lockstep.events import LockstepError, UnavailableError

MAX_WAITING: Final = 1_024
"""What was read and not yet taken; then the server waits."""
MAX_CONNECTIONS: Final = 2
HEARTBEAT_S: Final = 0.5
SILENCE_S: Final = 10
"""After so long without a sign of life the connection is lost."""
LOOK_S: Final = 0.2
LARGEST_SERVER_ID: Final = 2**32 - 1
FIRST: Final = 4
"""Where a file of the log begins."""
_FATAL: Final = 1236
"""What the server says when it cannot send on: for the most part it has not that place."""
_TAKEN_OVER: Final = "same server_"
_TOO_LARGE: Final = "max_allowed_packet"
_WANTED: Final = {"binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
_UNWANTED: Final = ("log_bin_compress", "binlog_transaction_compression")
_COMPRESSED: Final = frozenset({40, *range(165, 172)})
"""Kinds of events that hold rows and that the reader passes over: MySQL's transactions that are
compressed as a whole, MariaDB's compressed queries and rows."""
_DAMAGED: Final = (
    ValueError, LookupError, TypeError, AttributeError, NotImplementedError, struct.error,
)  # fmt: skip

logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)  # our errors say what breaks

T = TypeVar("T")


class UnreadableError(DatabaseError):
    """The log is there, and what it holds cannot be told."""


Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowsTold:
    """Rows of the wanted table: each as it was and as it is, None where it was or is not there.
    `lacking`: columns of which the server kept nothing."""

    place: int
    rows: Sequence[tuple[Row | None, Row | None]]
    lacking: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StatementTold:
    """A statement as it was written, with the database in which it ran."""

    place: int
    schema: str
    text: str


@dataclass(frozen=True, slots=True)
class CommitTold:
    """A transaction ends here."""

    place: int


@dataclass(frozen=True, slots=True)
class PreparedTold:
    """What was told since the last end waits for an XA COMMIT, or for none."""

    place: int


@dataclass(frozen=True, slots=True)
class FileTold:
    """The log goes on in this file, which was made then. What had no end has none."""

    place: int
    made_s: int


Told = RowsTold | StatementTold | CommitTold | PreparedTold | FileTold


def place_number(file: str, position: int) -> int:
    """A place in the binary log as a number that grows: the file's number, then the position."""
    return (int(file.rpartition(".")[2]) << 32) | position


def own_server_id(name: str) -> int:
    """As whom a reader of that name reads. Whoever takes over takes it, too, so the server hangs up
    on the one before."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "big") % (LARGEST_SERVER_ID - 1) + 1


class Pump(Generic[T]):
    """Reads the log from `file` and `position` on, on a thread, until it is told to stop, or until
    it breaks; then `error` says why, and `broke_at` behind which place. `table`: its schema and its
    name. `translate` makes of what is told what is wanted, on that thread."""

    def __init__(
        self,
        datasource: Datasource,
        table: tuple[str, str],
        server_id: int,
        file: str,
        position: int,
        translate: Callable[[Told], Sequence[T]],
    ) -> None:
        self.error: LockstepError | None = None
        self.broke_at = place_number(file, position)
        self.found: queue.Queue[T] = queue.Queue(MAX_WAITING)
        self._datasource = datasource
        self._translate = translate
        self._ending = threading.Event()
        self._connections = 0
        self._reader = BinLogStreamReader(
            {**parameters_of(datasource, UTC), "read_timeout": SILENCE_S},
            server_id,
            resume_stream=True,
            blocking=True,
            log_file=file,
            log_pos=position,
            filter_non_implemented_events=False,
            only_tables=[table[1]],
            only_schemas=[table[0]],
            only_events=[
                WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent, XidEvent, QueryEvent,
                RotateEvent, HeartbeatLogEvent, NotImplementedEvent, PartialUpdateRowsEvent,
                FormatDescriptionEvent, XAPrepareEvent,
            ],
            slave_heartbeat=HEARTBEAT_S,
            pymysql_wrapper=self._connect,
            enable_logging=False,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._run, name="binlog", daemon=True)
        self._thread.start()

    def next(self, wait_s: float) -> T | None:
        """What comes next, if it comes in time; blocks. What broke the log is raised behind what
        was read before."""
        try:
            return self.found.get(timeout=wait_s) if wait_s > 0 else self.found.get_nowait()
        except queue.Empty:
            if self.error is not None and self.found.empty():
                raise self.error from None
            return None

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
                told = self._told(event)
                for one in self._translate(told) if told is not None else ():
                    self._put(one)
                self.broke_at = max(self.broke_at, told.place if told is not None else 0)
        except LockstepError as error:
            self.error = error
        except (pymysql.MySQLError, OSError) as error:
            self.error = _trouble(error, where)
        except _DAMAGED as error:
            self.error = UnreadableError(
                f"a change in the binary log cannot be read: {type(error).__name__}: {error}",
                where=where,
            )
        finally:
            self._reader.close()

    def _put(self, one: T) -> None:
        while not self._ending.is_set():
            try:
                self.found.put(one, timeout=LOOK_S)
            except queue.Full:
                continue
            return

    def _told(self, event: Any) -> Told | None:
        """What an event says, without the library's own types."""
        place = place_number(self._reader.log_file, self._reader.log_pos)
        match event:
            case HeartbeatLogEvent():
                return None
            case NotImplementedEvent() | PartialUpdateRowsEvent():
                self._check_readable(event)
                return None
            case QueryEvent():
                return StatementTold(place, event.schema.decode("utf-8", "replace"), event.query)
            case XAPrepareEvent() if not event.one_phase:
                return PreparedTold(place)
            case XidEvent() | XAPrepareEvent():
                return CommitTold(place)
            case RotateEvent():
                # Its place is in the next file, of which the next event tells when it was made.
                return None
            case FormatDescriptionEvent():
                return FileTold(place, event.timestamp)
        return _rows_told(event, place)

    def _check_readable(self, event: Any) -> None:
        """What cannot be read is told: passed over it would be lost."""
        if isinstance(event, PartialUpdateRowsEvent):
            why, hint = "holds parts of rows", "SET GLOBAL binlog_row_value_options = ''"
        elif event.event_type in _COMPRESSED:
            why = "is compressed"
            hint = " or ".join(f"SET GLOBAL {name} = 'OFF'" for name in _UNWANTED)
        else:
            return
        raise UnreadableError(f"the binary log {why}", where=self._datasource.name, hint=hint)


def _rows_told(event: Any, place: int) -> RowsTold:
    rows: list[tuple[Row | None, Row | None]]
    kinds: tuple[str, ...]
    if isinstance(event, UpdateRowsEvent):
        rows = [(row["before_values"], row["after_values"]) for row in event.rows]
        kinds = ("before_none_sources", "after_none_sources")
    else:
        is_gone = isinstance(event, DeleteRowsEvent)
        rows = [(row["values"], None) if is_gone else (None, row["values"]) for row in event.rows]
        kinds = ("none_sources",)
    sources = (row[kind].items() for row in event.rows for kind in kinds)
    lacking = (name for found in sources for name, why in found if why == COLS_BITMAP)
    return RowsTold(place, rows, frozenset(lacking))


def _trouble(error: pymysql.MySQLError | OSError, where: str) -> LockstepError:
    if isinstance(error, OSError) or passes(error):
        return UnavailableError(f"the database is away: {error}", where=where)
    said = str(error)
    if _TAKEN_OVER in said:
        return UnavailableError(f"another receiver reads on: {said}", where=where)
    if error.args and error.args[0] == _FATAL:
        if _TOO_LARGE not in said:
            return place_is_gone(where, said)
        hint = "SET GLOBAL max_allowed_packet to a larger one"
        return DatabaseError(said, where=where, hint=hint)
    hint = "the user needs REPLICATION SLAVE and REPLICATION CLIENT (BINLOG MONITOR)"
    return DatabaseError(said, where=where, hint=hint)


async def kept_logs(cursor: Any) -> dict[int, tuple[str, int]]:
    """The files that the server keeps: by the place at which each begins its name and its size."""
    await cursor.execute("SHOW BINARY LOGS")
    return {
        place_number(str(row[0]), 0): (str(row[0]), int(row[1])) for row in await cursor.fetchall()
    }


def file_and_position(
    place: int, logs: Mapping[int, tuple[str, int]], where: str
) -> tuple[str, int]:
    """Of a place that the server keeps. PlaceGoneError."""
    log, position = logs.get(place >> 32 << 32), place & 0xFFFFFFFF
    if log is None or position > log[1]:
        raise place_is_gone(where, f"the binary log {place >> 32:06d} has no {position} any more")
    return log[0], max(FIRST, position)


async def check_log(cursor: Any, where: str) -> Mapping[str, str]:
    """What the server writes has to be whole. Gives its variables, in upper case. DatabaseError."""
    await cursor.execute(
        "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%bin%' OR Variable_name IN"
        " ('server_id', 'server_uuid', 'lower_case_table_names')"
    )
    found = {str(name).lower(): str(value).upper() for name, value in await cursor.fetchall()}
    if found.get("log_bin") != "ON":
        raise DatabaseError(
            "the server keeps no binary log", where=where, hint="start it with log_bin"
        )
    wanted = [(name, value) for name, value in _WANTED.items() if found.get(name) != value]
    wanted += [(name, "OFF") for name in _UNWANTED if found.get(name) == "ON"]
    for name, value in wanted:
        raise DatabaseError(
            f"the server has {name}={found.get(name)}", where=where,
            hint=f"SET GLOBAL {name} = '{value}', and in the server's own settings",
        )  # fmt: skip
    return found
