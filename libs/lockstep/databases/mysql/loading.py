"""The rows of a MySQL or MariaDB table as of one moment, and the place of the binary log that
belongs to it.

MariaDB tells that place with the snapshot. MySQL does not, and what a commit wrote to the log may
not be in the table yet. So another connection locks this table against writers while the snapshot
is made: the lock is there only when every commit of the table is over.

All of it blocks: it is for a thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from lockstep.databases.contract import DatabaseError
from lockstep.databases.datasources import Datasource
from lockstep.databases.mysql.binlog import place_number
from lockstep.databases.mysql.columns import Field
from lockstep.databases.mysql.connections import connected_blocking, hang_up, quoted, told

LOCK_WAIT_S: Final = 5
"""So long writers may keep the lock away; then it is tried again later."""
PATIENCE_S: Final = 600
"""So long a load waits while the app's processors lag."""
SETTINGS: Final = (
    f"SET SESSION net_write_timeout = {PATIENCE_S}, sql_mode = ''"
    " /*M! , max_statement_time = 0 */ /*!50708 , max_execution_time = 0 */"
)
_CALLED_OTHERWISE: Final = (8, 2)
"""Since this MySQL the place has another name."""
RIGHTS: Final = (
    "the user needs SELECT on the table, REPLICATION SLAVE, REPLICATION CLIENT (BINLOG MONITOR),"
    " and in MySQL LOCK TABLES"
)


class Load:
    """`locks`: whether the place is had by a lock; None: where the server is no MariaDB."""

    def __init__(self, datasource: Datasource, table: str, *, locks: bool | None = None) -> None:
        self._datasource = datasource
        self._table = table
        self._locks = locks
        self._connection: Any = None
        self._cursor: Any = None
        self._fields: Sequence[Field] = ()

    def begin(self) -> int:
        """Makes the snapshot; gives its place. Errors: UnavailableError, DatabaseError."""
        with self._told():
            connection = self._connection = self._connected()
            _ask(connection, SETTINGS)
            is_mariadb = "mariadb" in str(connection.get_server_info()).lower()
            if self._locks if self._locks is not None else not is_mariadb:
                return self._locked_begin(connection)
            _begin(connection)
            places = dict(_ask(connection, "SHOW STATUS LIKE 'binlog_snapshot%'"))
            file, position = places["Binlog_snapshot_file"], places["Binlog_snapshot_position"]
            return place_number(str(file), int(position))

    def ask(self, fields: Sequence[Field]) -> None:
        """For these columns of all rows."""
        columns = ", ".join(one.selected for one in fields)
        self._fields = fields
        with self._told():
            self._cursor = self._connection.cursor()
            self._cursor.execute(f"SELECT {columns} FROM {quoted(self._table)}")  # noqa: S608

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        """The next ones; fewer than `count` at the end."""
        with self._told():
            found = self._cursor.fetchmany(count)
        return [
            tuple(
                None if value is None else one.loaded(value)
                for one, value in zip(self._fields, row, strict=True)
            )
            for row in found
        ]

    def close(self) -> None:
        """Ends the connection, and the snapshot with it; idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            hang_up(connection)

    def _connected(self) -> Any:
        timeout_s = max(LOCK_WAIT_S + 1, self._datasource.statement_timeout_ms / 1000)
        return connected_blocking(self._datasource, timeout_s=timeout_s)

    def _locked_begin(self, connection: Any) -> int:
        lock = self._connected()
        try:
            _ask(lock, f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S}")
            _ask(lock, f"LOCK TABLES {quoted(self._table)} READ")
            _begin(connection)
            version = tuple(map(int, str(connection.get_server_info()).split(".")[:2]))
            what = "BINARY LOG" if version[0] < 10 and version >= _CALLED_OTHERWISE else "MASTER"
            [(file, position, *_)] = _ask(connection, f"SHOW {what} STATUS")
        finally:
            hang_up(lock)
        return place_number(str(file), int(position))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            with told(self._datasource):
                yield
        except DatabaseError as error:
            where = f"{self._datasource.name}.{self._table}"
            raise DatabaseError(error.message, where=where, hint=RIGHTS) from error


def _begin(connection: Any) -> None:
    _ask(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    _ask(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def _ask(connection: Any, statement: str) -> Sequence[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
