"""MySQL and MariaDB: which server answers, and some rows, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiomysql
import pymysql

from lockstep.databases.contract import DatabaseError, ReadRows
from lockstep.databases.datasources import Datasource
from lockstep.databases.values import plain
from lockstep.events import UnavailableError

CONNECT_TIMEOUT_S: Final = 5
_NO_CONNECTION: Final = range(2000, 2100)
"""The driver's own: no connection, or one that broke."""

_PASSING: Final = frozenset(
    {1021, 1040, 1041, 1053, 1114, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1317}
    | {1927, 1969, 3024}
)
"""What the server says when it lacks something for now: connections, memory, disk, a lock, time."""

DENIED: Final = (1044, 1142, 1143)


async def mysql_server_of(datasource: Datasource) -> str:
    """What answers, in few words. Errors: UnavailableError, DatabaseError."""
    async with connected(datasource) as connection:
        # MariaDB begins with a version that old clients of MySQL understand.
        version = str(connection.get_server_info()).removeprefix("5.5.5-")
    return f"{'MariaDB' if 'Maria' in version else 'MySQL'} {version}"


async def read_mysql(datasource: Datasource, *, table: str, select: str, max_rows: int) -> ReadRows:
    """Of the table, or what the SELECT gives, in a transaction that can only read. Errors:
    UnavailableError, DatabaseError."""
    table_rows = f"SELECT * FROM {quoted(table)}"  # noqa: S608 - an identifier, quoted
    wanted = select.strip().rstrip(";") or table_rows
    limit_s = datasource.statement_timeout_ms / 1000
    async with connected(datasource) as connection:
        try:
            async with asyncio.timeout(limit_s):
                cursor = await connection.cursor()
                await cursor.execute(f"SET SESSION sql_select_limit = {max_rows + 1}")
                await cursor.execute("START TRANSACTION READ ONLY")
                # The driver would send several statements. A prepared one is one, and what is one
                # both as a sub-query and by itself is a SELECT that writes no file. As a sub-query
                # it would lose its order.
                await _prepare(cursor, f"SELECT * FROM ({wanted}\n) AS found")  # noqa: S608
                await _prepare(cursor, wanted)
                # One that takes no more rows than it is asked for; its connection is closed behind.
                cursor = await connection.cursor(aiomysql.SSCursor)
                await cursor.execute("EXECUTE question")
                columns = tuple(one[0] for one in cursor.description)
                found = await cursor.fetchmany(max_rows + 1)
        except TimeoutError as error:
            raise UnavailableError(
                f"the database has not answered within {datasource.statement_timeout_ms} ms",
                where=datasource.name,
            ) from error
    rows = [[plain(value) for value in row] for row in found[:max_rows]]
    return ReadRows(columns, rows, is_cut=len(found) > max_rows)


async def _prepare(cursor: Any, statement: str) -> None:
    await cursor.execute("SET @question = %s", (statement,))
    await cursor.execute("PREPARE question FROM @question")


def quoted(name: str) -> str:
    """A name as an identifier; a dot separates database and table."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))


@asynccontextmanager
async def connected(datasource: Datasource) -> AsyncIterator[Any]:
    """A connection that ends with the block, and with it what was begun; its errors as ours."""
    try:
        connection = await aiomysql.connect(**parameters_of(datasource))
        check_encrypted(connection, datasource)
        try:
            yield connection
        finally:
            connection.close()
    except (pymysql.MySQLError, OSError) as error:
        if isinstance(error, OSError) or passes(error):
            raise UnavailableError(
                f"the database is away: {error}", where=datasource.name
            ) from error
        hint = "the datasource's user needs SELECT on it, and can change nothing here"
        is_denied = bool(error.args) and error.args[0] in DENIED
        raise DatabaseError(
            str(error), where=datasource.name, hint=hint if is_denied else None
        ) from error


def passes(error: pymysql.MySQLError) -> bool:
    """Whether the same may succeed a while later: there is no connection, or the server lacks
    something for now."""
    if isinstance(error, pymysql.InterfaceError):
        return True
    number = error.args[0] if error.args else 0
    return isinstance(number, int) and (number in _PASSING or number in _NO_CONNECTION)


def parameters_of(datasource: Datasource) -> dict[str, Any]:
    """How the driver gets there."""
    return {
        "host": datasource.host,
        "port": datasource.port,
        "user": datasource.username,
        "password": datasource.password,
        "db": datasource.database,
        "connect_timeout": CONNECT_TIMEOUT_S,
        "charset": "utf8mb4",
        "ssl": datasource.tls,
    }


def check_encrypted(connection: Any, datasource: Datasource) -> None:
    """The driver goes on plainly with a server that offers no TLS. OSError."""
    if datasource.wants_tls and not connection._secure:
        connection.close()
        raise ConnectionError(f"the server of {datasource.name} speaks no TLS")
