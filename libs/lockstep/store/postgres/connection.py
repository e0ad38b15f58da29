"""The pool, and asyncpg's errors in the store's words."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import asyncpg
from asyncpg.exceptions._base import DataError as ClientDataError

from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.store.postgres.address import check_dsn
from lockstep.store.postgres.away import STATEMENT_LOST, why_away
from lockstep.store.postgres.poolers import Connecting
from lockstep.store.postgres.sessions import session_settings
from lockstep.tls import TlsError, TlsFiles, calling

CONNECT_TIMEOUT_S: Final = 5.0
MIGRATION_LOCK: Final = 4_951_207_331
"""Key of the advisory lock under which processes bring the tables up to date, one at a time."""
READ_COMMITTED: Final = "read_committed"
"""Each statement sees what is committed by then. Ours wait for a lock, and look then: with a
database's default that shows all of them one moment they would see what was before the lock."""

AWAY: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server has said that it ends, and not yet hung up
    asyncpg.exceptions.OperatorInterventionError,
    asyncpg.exceptions.InsufficientResourcesError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,  # we were too slow: from the start
    asyncpg.exceptions.TransactionRollbackError,  # deadlock, serialization: again from the start
    asyncpg.exceptions.ReadOnlySQLTransactionError,  # a replica that is not yet promoted
    asyncpg.LockNotAvailableError,  # somebody else has it for longer than `lock_timeout`
    *STATEMENT_LOST,
)
"""Asked for before REFUSING, which has a parent of one of these."""

UNSTORABLE: Final = (
    asyncpg.CharacterNotInRepertoireError,
    asyncpg.UntranslatableCharacterError,
    asyncpg.NumericValueOutOfRangeError,
    ClientDataError,  # an InterfaceError that is no sign of a server that is away
)
"""What somebody sent, and neither its protocol nor its tables can take."""


_LOGIN: Final = (
    "look at the user and password in store.postgres_dsn, which a process reads when it starts,"
    " and at pg_hba.conf"
)
_TABLES: Final = (
    "the user of store.postgres_dsn needs its database there, CREATE on the database for the first"
    " start, and all tables of its schema lockstep"
)
_INSIDE: Final = "PostgreSQL's own log says more"
REFUSING: Final[Mapping[type[Exception], str]] = {
    asyncpg.InvalidAuthorizationSpecificationError: _LOGIN,  # a wrong password as well
    asyncpg.ObjectNotInPrerequisiteStateError: _TABLES,  # a database that takes no connections
    asyncpg.InsufficientPrivilegeError: _TABLES,
    asyncpg.InvalidCatalogNameError: _TABLES,
    asyncpg.InvalidSchemaNameError: _TABLES,
    asyncpg.UndefinedTableError: _TABLES,
    asyncpg.InternalServerError: _INSIDE,
    asyncpg.PostgresSystemError: _INSIDE,
}
"""What the server's operator has to mend, or we have; and where to look."""


class StoreRefusedError(UnavailableError):
    """PostgreSQL answers, and does not do its work for us: its operator can mend that, no sender of
    a request can. Who runs goes on as if it were away; who starts ends."""

    retryable = False


class UnstorableError(LockstepError):
    """What no table can hold: its sender can mend that."""

    fault = Fault.USER


@contextlib.asynccontextmanager
async def available() -> AsyncIterator[None]:
    """Turns "cannot be reached" into UnavailableError, "is refused" into StoreRefusedError, and
    "cannot be kept" into UnstorableError; other errors are ours and pass."""
    try:
        yield
    except UNSTORABLE as error:
        raise UnstorableError(
            "a text or number that PostgreSQL cannot keep",
            hint="leave out NUL characters (\\u0000); whole numbers have 64 bits",
        ) from error
    except AWAY as error:
        raise UnavailableError(f"PostgreSQL is away: {why_away(error)}") from error
    except tuple(REFUSING) as error:
        hint = next(hint for kind, hint in REFUSING.items() if isinstance(error, kind))
        raise StoreRefusedError(f"PostgreSQL refuses us: {error}", hint=hint) from error


@contextlib.asynccontextmanager
async def transaction(pool: Any) -> AsyncIterator[Any]:
    """A connection in a transaction, READ_COMMITTED. Errors: see `available`."""
    async with (
        available(),
        pool.acquire() as connection,
        connection.transaction(isolation=READ_COMMITTED),
    ):
        yield connection


async def open_pool(dsn: str, *, max_connections: int, statement_timeout_ms: int) -> Any:
    """An open pool with the tables at this release's state; UnavailableError, BadDsnError."""
    check_dsn(dsn)
    async with available():
        pool = await asyncpg.create_pool(
            dsn,
            min_size=0,  # else the pool tells of every try to connect with a traceback
            max_size=max_connections,
            timeout=min(CONNECT_TIMEOUT_S, statement_timeout_ms / 1000),
            command_timeout=statement_timeout_ms / 1000,
            server_settings=session_settings(statement_timeout_ms),
            connect=Connecting(_connect),
            init=_prepare,
            reset=_as_it_is,
        )
        try:
            async with pool.acquire() as connection:
                await _migrate(connection)
        except BaseException:
            pool.terminate()
            raise
        return pool


async def _connect(dsn: str, **given: Any) -> Any:
    """A connection. Errors: those of asyncpg; UnavailableError that names the files of the address
    where these cannot be used, which asyncpg's do not."""
    try:
        return await asyncpg.connect(dsn, **given)
    except (ssl.SSLError, FileNotFoundError, PermissionError) as error:
        named = dict(parse_qsl(urlsplit(dsn).query))
        authority, certificate, key, password = (
            named.get(f"ssl{name}", "") for name in ("rootcert", "cert", "key", "password")
        )
        try:
            calling(TlsFiles(authority, certificate, key, password=password))
        except TlsError as unusable:
            raise UnavailableError(
                f"PostgreSQL is away: {unusable.message}", where=unusable.where, hint=unusable.hint
            ) from error
        raise


async def _prepare(connection: Any) -> None:
    await connection.set_type_codec(
        "jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
    )


async def _as_it_is(_: Any) -> None:
    """A connection goes back to the pool without a round trip: nothing here sets what outlives a
    transaction, and asyncpg rolls back what a cancelled caller left open.
    """


async def _migrate(connection: Any) -> None:
    async with connection.transaction(isolation=READ_COMMITTED):
        await connection.execute("select pg_advisory_xact_lock($1)", MIGRATION_LOCK)
        # Looked for first: `if not exists` wants the right to make it where it is there, too.
        if await connection.fetchval("select to_regclass('lockstep.migrations')") is None:
            await connection.execute("create schema if not exists lockstep")
            await connection.execute("create table lockstep.migrations (name text primary key)")
        # For update: a server that takes no writes is told from one that is ready for us.
        rows = await connection.fetch("select name from lockstep.migrations for update")
        done = {row["name"] for row in rows}
        folder = resources.files("lockstep.store.postgres").joinpath("migrations")
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql") and file.name not in done:
                await connection.execute(file.read_text("utf-8"))
                await connection.execute(
                    "insert into lockstep.migrations (name) values ($1)", file.name
                )
