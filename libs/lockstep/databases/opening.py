"""What follows or asks a datasource, by its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, Final

from lockstep.clock import Clock
from lockstep.databases.comparing import ComparingFollowing, Looking
from lockstep.databases.contract import (
    Asking,
    DatabaseError,
    Following,
    LoginRefusedError,
    Memory,
    ReadRows,
    TableShape,
)
from lockstep.databases.datasources import Datasource, DatasourceError
from lockstep.databases.listening import Listening, RowOperation
from lockstep.databases.mysql.asking import MysqlAsking
from lockstep.databases.mysql.connections import mysql_server_of, read_mysql
from lockstep.databases.mysql.following import MysqlFollowing
from lockstep.databases.mysql.listening import MysqlListening
from lockstep.databases.polling import Polling
from lockstep.databases.postgres.asking import PostgresAsking
from lockstep.databases.postgres.following import PostgresFollowing, server_of
from lockstep.databases.postgres.listening import PostgresListening
from lockstep.databases.postgres.reading import read_postgres
from lockstep.databases.redis.asking import RedisAsking
from lockstep.databases.redis.looking import RedisLooking
from lockstep.databases.sqlite.asking import SqliteAsking
from lockstep.databases.sqlite.looking import SqliteLooking
from lockstep.databases.sqlite.reading import read_sqlite, sqlite_file_of
from lockstep.events.packages import to_install

_LOG: Final = logging.getLogger(__name__)
POLL_MS: Final = 200
WHOLE_POLL_MS: Final = 1_000
"""Where each look reads all."""


def open_following(
    datasource: Datasource,
    shape: TableShape,
    name: str,
    memory: Memory,
    clock: Clock,
    *,
    poll_ms: int | None,
    life: int,
    publication: str | None,
) -> Following:
    """Of one table for one app; connects when it is read. DatasourceError for a kind that cannot be
    followed. `poll_ms`: between two looks; None leaves it to the kind."""
    if datasource.kind == "postgresql":
        return PostgresFollowing(
            datasource, shape, name, memory, clock,
            poll_ms=poll_ms or POLL_MS, life=life, publication=publication,
        )  # fmt: skip
    if publication is not None:
        raise DatasourceError(
            f"{datasource.place} has no publications", where=datasource.name,
            hint="leave 'publication' out",
        )  # fmt: skip
    if datasource.kind == "mysql":
        return MysqlFollowing(
            datasource, shape, name, memory, clock, poll_ms=poll_ms or POLL_MS, life=life
        )
    looking: Looking
    match datasource.kind:
        case "sqlite":
            looking = SqliteLooking(datasource, shape)
        case "redis":
            looking, poll_ms = RedisLooking(datasource, shape), poll_ms or WHOLE_POLL_MS
        case "mongodb":
            looking = _mongodb("looking:MongoLooking")(datasource, shape)
            poll_ms = poll_ms or WHOLE_POLL_MS
        case _:
            raise DatasourceError(
                f"{datasource.place}: with mode='copy' there is no such database",
                where=datasource.name,
                hint="mode='lookup', or a PostgreSQL database",
            )
    where = f"{datasource.name}.{shape.table}"
    return ComparingFollowing(
        looking, shape, name, memory, clock, where=where, poll_ms=poll_ms or POLL_MS
    )


def open_listening(
    datasource: Datasource,
    table: str,
    operations: Collection[RowOperation],
    name: str,
    memory: Memory,
    clock: Clock,
    *,
    server_id: int,
    publication: str | None,
) -> Listening:
    """The changes of one table for one source, by the database's own log; connects when it is
    read. `server_id` is for MySQL, `publication` for PostgreSQL. DatasourceError for a kind that
    has no such log."""
    if datasource.kind == "mysql":
        return MysqlListening(
            datasource, table, operations, name, memory, clock, server_id=server_id
        )
    if datasource.kind == "sqlite":
        raise DatasourceError(
            f"{datasource.place}: SQLite keeps no record of its changes", where=datasource.name,
            hint="mode='polling' with a polling.column of numbers that grow",
        )  # fmt: skip
    return PostgresListening(
        datasource, table, operations, name, memory, clock, publication=publication
    )


def open_polling(
    datasource: Datasource,
    table: str,
    column: str,
    name: str,
    memory: Memory,
    clock: Clock,
    *,
    interval_ms: int,
) -> Listening:
    """The rows of one table whose column has grown; connects at each question."""

    async def ask(select: str, max_rows: int) -> ReadRows:
        return await read_datasource(datasource, table="", select=select, max_rows=max_rows)

    return Polling(datasource, ask, table, column, name, memory, clock, interval_ms=interval_ms)


async def check_datasource(datasource: Datasource) -> str:
    """Which server answers. Errors: UnavailableError, DatabaseError: whoever looks is told as whom
    the server does not let them in."""
    check = {"mysql": mysql_server_of, "sqlite": sqlite_file_of}.get(datasource.kind, server_of)
    try:
        return await check(datasource)
    except LoginRefusedError as error:
        raise DatabaseError(error.said, where=datasource.name, hint=error.hint) from error


async def read_datasource(
    datasource: Datasource, *, table: str, select: str, max_rows: int
) -> ReadRows:
    """Rows of a table, or what a SELECT gives; nothing is changed. Errors: UnavailableError,
    DatabaseError."""
    read = {"mysql": read_mysql, "sqlite": read_sqlite}.get(datasource.kind, read_postgres)
    return await read(datasource, table=table, select=select, max_rows=max_rows)


_ASKING: Final[Mapping[str, Callable[[Datasource], Asking]]] = {
    "postgresql": PostgresAsking,
    "mysql": MysqlAsking,
    "sqlite": SqliteAsking,
    "redis": RedisAsking,
    "mongodb": lambda datasource: _mongodb("asking:MongoAsking")(datasource),
}


def open_asking(datasource: Datasource) -> Asking:
    """Connects when it is first asked. DatasourceError where a package is missing."""
    return _Telling(_ASKING[datasource.kind](datasource))


class _Telling:
    """Another asking. The log tells when the database refuses the login, once until it does not:
    who sends events is not told as whom we came, and maybe nobody else hears of it."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._is_told = False

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`."""
        try:
            found = await self._asking.rows(shape, equal, keys)
        except LoginRefusedError as error:
            if not self._is_told:
                self._is_told = True
                _LOG.warning("a table waits for its database: %s", error)
            raise
        self._is_told = False
        return found

    async def close(self) -> None:
        """See `Asking`."""
        await self._asking.close()


def _mongodb(name: str) -> Any:
    """Loaded when an app uses it: the driver is an optional part."""
    try:
        return resolve_name(f"lockstep.databases.mongodb.{name}")
    except ImportError as error:
        raise DatasourceError(
            f"'mongodb' needs a package that is not installed: {error.name}",
            hint=to_install("mongodb", "beside every receiver"),
        ) from error
