"""Some rows of a PostgreSQL database, once, in a transaction that can only read."""

from __future__ import annotations

import asyncpg

from lockstep.databases.contract import DatabaseError, ReadRows
from lockstep.databases.datasources import Datasource
from lockstep.databases.postgres.connections import Connections
from lockstep.databases.postgres.errors import told
from lockstep.databases.postgres.values import quoted
from lockstep.databases.values import plain


async def read_postgres(
    datasource: Datasource, *, table: str, select: str, max_rows: int
) -> ReadRows:
    """Of the table, or what the SELECT gives. Errors: UnavailableError, DatabaseError."""
    source = f"({select.strip().rstrip(';')}\n)" if select else quoted(table)
    # A sub-query can be one SELECT and nothing else, and a prepared statement is one statement.
    question = f"SELECT * FROM {source} AS found LIMIT {max_rows + 1}"  # noqa: S608
    connections = Connections(
        datasource.dsn, max_connections=1, statement_timeout_ms=datasource.statement_timeout_ms
    )
    try:
        async with told(datasource.name):
            pool = await connections.pool()
            async with pool.acquire() as connection, connection.transaction(readonly=True):
                prepared = await connection.prepare(question)
                found = await prepared.fetch()
                columns = tuple(one.name for one in prepared.get_attributes())
    except DatabaseError as error:
        if isinstance(error.__cause__, asyncpg.InsufficientPrivilegeError):
            hint = "the datasource's user needs SELECT on it, and can change nothing here"
            raise DatabaseError(error.message, where=error.where, hint=hint) from error
        raise
    finally:
        await connections.close()
    rows = [[plain(value) for value in row] for row in found[:max_rows]]
    return ReadRows(columns, rows, is_cut=len(found) > max_rows)
