"""What follows or asks a datasource, by its kind."""

from __future__ import annotations

from collections.abc import Collection

from lockstep.clock import Clock
from lockstep.databases.contract import Asking, Following, Memory, ReadRows, TableShape
from lockstep.databases.datasources import Datasource, DatasourceError
from lockstep.databases.listening import Listening, RowOperation
from lockstep.databases.mysql import mysql_server_of, read_mysql
from lockstep.databases.mysql_asking import MysqlAsking
from lockstep.databases.mysql_listening import MysqlListening
from lockstep.databases.polling import Polling
from lockstep.databases.postgres.asking import PostgresAsking
from lockstep.databases.postgres.following import PostgresFollowing, server_of
from lockstep.databases.postgres.listening import PostgresListening
from lockstep.databases.postgres.reading import read_postgres


def open_following(
    datasource: Datasource,
    shape: TableShape,
    name: str,
    memory: Memory,
    clock: Clock,
    *,
    poll_ms: int,
    life: int,
    publication: str | None,
) -> Following:
    """Of one table for one app; connects when it is read. DatasourceError for a kind that cannot be
    followed."""
    if datasource.kind != "postgresql":
        raise DatasourceError(
            f"{datasource.place}: with mode='copy' there is PostgreSQL alone",
            where=datasource.name,
            hint="mode='lookup', or a PostgreSQL database",
        )
    return PostgresFollowing(
        datasource, shape, name, memory, clock, poll_ms=poll_ms, life=life, publication=publication
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
    read. `server_id` is for MySQL, `publication` for PostgreSQL."""
    if datasource.kind == "mysql":
        return MysqlListening(
            datasource, table, operations, name, memory, clock, server_id=server_id
        )
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
    """Which server answers. Errors: UnavailableError, DatabaseError."""
    if datasource.kind == "mysql":
        return await mysql_server_of(datasource)
    return await server_of(datasource)


async def read_datasource(
    datasource: Datasource, *, table: str, select: str, max_rows: int
) -> ReadRows:
    """Rows of a table, or what a SELECT gives; nothing is changed. Errors: UnavailableError,
    DatabaseError."""
    if datasource.kind == "mysql":
        return await read_mysql(datasource, table=table, select=select, max_rows=max_rows)
    return await read_postgres(datasource, table=table, select=select, max_rows=max_rows)


def open_asking(datasource: Datasource) -> Asking:
    """Connects when it is first asked."""
    if datasource.kind == "mysql":
        return MysqlAsking(datasource)
    return PostgresAsking(datasource)
