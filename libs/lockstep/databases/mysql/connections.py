"""MySQL and MariaDB: which server answers, some rows once, and a pool for many questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiomysql
import pymysql
from pymysql.cursors import SSCursor

from lockstep.databases.contract import DatabaseError, LoginRefusedError, ReadRows
from lockstep.databases.datasources import Datasource
from lockstep.databases.values import plain
from lockstep.events import UnavailableError

CONNECT_TIMEOUT_S: Final = 5
IDLE_S: Final = 60
"""A connection that nobody uses is given up by then, by the server too."""
_NO_CONNECTION: Final = range(2000, 2100)
"""The driver's own: no connection, or one that broke."""

_PASSING: Final = frozenset(
    {1021, 1040, 1041, 1047, 1053, 1114, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1317}
    | {1792, 1836, 1927, 1969, 3024}
)
"""What the server says when it lacks something for now: connections, memory, disk, a lock, time,
the right to write, its cluster."""
_OPTION_PREVENTS: Final = 1290
_READ_ONLY: Final = "read-only"
"""The option that a replica has until it is promoted; others prevent a statement for good."""
UTC: Final = "time_zone='+00:00'"
"""A setting of sessions that read: they are told each TIMESTAMP in UTC, whatever zone the server is
in. In others an hour comes twice a year."""
READS_ONLY: Final = 1792
"""A transaction that can only read was to change something."""

DENIED: Final = (1044, 1142, 1143)
_LOGIN_REFUSED: Final = frozenset({1045, 1698, 1862, 3118, 4151})
"""A wrong password, none, one that is over, a locked account as MySQL and as MariaDB say it."""


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
    """A connection to read with. It ends with the block, and with it what was begun; its errors as
    ours."""
    with told(datasource):
        connection = await aiomysql.connect(**parameters_of(datasource, UTC))
        check_encrypted(connection, datasource)
        try:
            yield connection
        finally:
            connection.close()


def connected_blocking(datasource: Datasource, *, timeout_s: float) -> Any:
    """A connection to read with, for a thread that may wait, whose cursors keep no rows: they come
    as they are fetched. The driver's errors; see `told`."""
    given = parameters_of(datasource, UTC)
    connection = pymysql.connect(
        database=given.pop("db"), cursorclass=SSCursor, read_timeout=timeout_s, **given
    )
    check_encrypted(connection, datasource)
    return connection


def hang_up(connection: Any) -> None:
    """Ends a blocking connection, also where an answer is still under way: its rest is not waited
    for."""
    answer = connection._result
    if answer is not None:
        answer.unbuffered_active = False
    connection.close()


class MysqlQuestions:
    """A pool of one database for questions alone, opened at the first. Each sees what is committed
    by then. The server ends what takes longer than the datasource says."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._pool: Any = None

    async def ask(
        self, statement: str, values: Sequence[Any]
    ) -> tuple[list[int], list[tuple[Any, ...]]]:
        """The types of the columns, as the server numbers them, and all rows. Errors:
        UnavailableError, DatabaseError."""
        limit_s = self._datasource.statement_timeout_ms / 1000 + CONNECT_TIMEOUT_S
        with told(self._datasource):
            async with asyncio.timeout(limit_s):
                pool = await self._opened()
                connection = await pool.acquire()
                is_done = False
                try:
                    check_encrypted(connection, self._datasource)
                    cursor = await connection.cursor()
                    await cursor.execute(statement, values)
                    kinds = [column[1] for column in cursor.description]
                    found = await cursor.fetchall()
                    is_done = True
                finally:
                    if not is_done:  # its answer may be under way
                        connection.close()
                    pool.release(connection)
        return kinds, list(found)

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()
            await pool.wait_closed()

    async def _opened(self) -> Any:
        if self._pool is None:
            limit_ms = self._datasource.statement_timeout_ms
            self._pool = await aiomysql.create_pool(
                # MariaDB passes over what is meant for MySQL 5.7 and newer, MySQL over /*M! */.
                **parameters_of(
                    self._datasource,
                    f"{UTC}, wait_timeout={IDLE_S}"
                    f" /*M! , max_statement_time={limit_ms / 1000} */"
                    f" /*!50708 , max_execution_time={limit_ms} */",
                ),
                minsize=0,
                maxsize=self._datasource.max_connections,
                pool_recycle=IDLE_S // 2,
                autocommit=True,
            )
        return self._pool


@contextmanager
def told(datasource: Datasource) -> Iterator[None]:
    """The driver's errors as ours."""
    try:
        yield
    except (pymysql.MySQLError, OSError) as error:
        if isinstance(error, OSError) or passes(error):
            why = str(error) or "it has not answered in time"
            raise UnavailableError(f"the database is away: {why}", where=datasource.name) from error
        number = error.args[0] if error.args else 0
        if number in _LOGIN_REFUSED:
            raise LoginRefusedError(str(error.args[-1]), where=datasource.name) from error
        hint = "the datasource's user needs SELECT on it, and can change nothing here"
        raise DatabaseError(
            str(error), where=datasource.name, hint=hint if number in DENIED else None
        ) from error


def passes(error: pymysql.MySQLError) -> bool:
    """Whether the same may succeed a while later: there is no connection, or the server lacks
    something for now."""
    if isinstance(error, pymysql.InterfaceError):
        return True
    number = error.args[0] if error.args else 0
    if number == _OPTION_PREVENTS:
        return _READ_ONLY in str(error)
    return isinstance(number, int) and (number in _PASSING or number in _NO_CONNECTION)


def parameters_of(datasource: Datasource, settings: str = "") -> dict[str, Any]:
    """How the driver gets there. `settings`: of each session."""
    return {
        "init_command": f"SET SESSION {settings}" if settings else None,
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
