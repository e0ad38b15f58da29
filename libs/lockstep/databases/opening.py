"""What follows or asks a datasource, by its kind."""

from __future__ import annotations

from lockstep.clock import Clock
from lockstep.databases.contract import Asking, Following, Memory, ReadRows, TableShape
from lockstep.databases.datasources import Datasource, DatasourceError
from lockstep.databases.mysql import mysql_server_of, read_mysql
from lockstep.databases.postgres.asking import PostgresAsking
from lockstep.databases.postgres.following import PostgresFollowing, server_of
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
    read."""
    _check_read(datasource, "copy")
    return PostgresFollowing(
        datasource, shape, name, memory, clock, poll_ms=poll_ms, life=life, publication=publication
    )


def _check_read(datasource: Datasource, mode: str) -> None:
    if datasource.kind != "postgresql":
        raise DatasourceError(
            f"{datasource.place}: with mode={mode!r} there is PostgreSQL alone",
            where=datasource.name,
            hint="mode='own', or a PostgreSQL database",
        )


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
    """Connects when it is first asked. DatasourceError for a kind that cannot be read."""
    _check_read(datasource, "lookup")
    return PostgresAsking(datasource)
