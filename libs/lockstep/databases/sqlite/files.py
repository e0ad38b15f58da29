"""An SQLite file and the threads on which its statements run: the library blocks.

The only module that imports sqlite3.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from lockstep.databases.contract import DatabaseError
from lockstep.databases.datasources import Datasource
from lockstep.events import UnavailableError
from lockstep.secrets import is_closed

Connection = sqlite3.Connection
VERSION: Final = sqlite3.sqlite_version
T = TypeVar("T")

_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA,
    }
)  # fmt: skip
"""What another try, or somebody who mends the file system, may change."""
_PRIMARY: Final = 0xFF
"""The part of an error's number that says what it is; the rest says where."""


class SqliteAwayError(Exception):
    """The file cannot be had just now: it is locked, or not there, or may not be written."""


class SqliteRefusedError(Exception):
    """The file is there, and what was asked of it is wrong."""


@contextmanager
def translated(*, only_asks: bool = False) -> Iterator[None]:
    """The library's errors as these two. `only_asks`: what would write is wrong, whoever may."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        number = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
        passes = number in _PASSING and not (only_asks and number == sqlite3.SQLITE_READONLY)
        raise (SqliteAwayError if passes else SqliteRefusedError)(str(error)) from error


@contextmanager
def told(where: str) -> Iterator[None]:
    """These two as errors of ours."""
    try:
        yield
    except SqliteAwayError as error:
        raise UnavailableError(
            f"the database is away: {error}",
            where=where,
            hint="the file has to be there, for this service's user to read and write,"
            " on this machine",
        ) from error
    except SqliteRefusedError as error:
        raise DatabaseError(str(error), where=where) from error


class Turn:
    """One piece of work on a thread, which can be broken off from outside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    @contextmanager
    def on(self, connection: Connection) -> Iterator[None]:
        """The block's statements are those that `end` breaks off."""
        with self._lock:
            self._connection = connection
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def end(self) -> None:
        """From any thread. What is done already stays."""
        with self._lock:
            if self._connection is not None:
                self._connection.interrupt()


class SqliteThreads:
    """At most `most` pieces of work on one file at once; each ends in the datasource's time."""

    def __init__(self, datasource: Datasource, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=f"sqlite-{datasource.name}")
        self._limit_ms = datasource.statement_timeout_ms

    async def run(self, work: Callable[[Turn], T]) -> T:
        """What the work gives. SqliteAwayError, SqliteRefusedError, and the work's own errors.

        What is broken off is waited for, once more as long at most: it may have been done.
        """
        turn, late = Turn(), f"no answer within {self._limit_ms} ms"
        running = asyncio.get_running_loop().run_in_executor(self._pool, work, turn)
        running.add_done_callback(_heard)
        try:
            if not (await asyncio.wait({running}, timeout=self._limit_ms / 1000))[0]:
                turn.end()
                await asyncio.wait({running}, timeout=self._limit_ms / 1000)
                if not running.done() or isinstance(running.exception(), SqliteAwayError):
                    raise SqliteAwayError(late)
            return running.result()
        finally:
            turn.end()

    def leave(self, work: Callable[[], None]) -> None:
        """The last work; nobody waits for it. Idempotent with the same work."""
        try:
            self._pool.submit(work)
        except RuntimeError:
            return  # it is closed already
        self._pool.shutdown(wait=False)

    def close(self) -> None:
        """Lets the running work end by itself; idempotent."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _heard(running: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more, perhaps."""
    if not running.cancelled():
        running.exception()


class SqliteFile:
    """A file whose every piece of work has a connection of its own: opening one is cheap, and what
    a connection holds cannot stay behind."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._threads = SqliteThreads(datasource, datasource.max_connections)

    async def ask(self, work: Callable[[Connection], T]) -> T:
        """Of work that can change nothing. SqliteAwayError, SqliteRefusedError."""
        return await self._run(work, "PRAGMA query_only = ON", may_make=False, only_asks=True)

    async def change(self, work: Callable[[Connection], T], *, may_make: bool = False) -> T:
        """Of work that is on the disk when it is committed. `may_make`: the file, where there is
        none. SqliteAwayError, SqliteRefusedError."""
        return await self._run(work, "PRAGMA synchronous = FULL", may_make=may_make)

    def close(self) -> None:
        """Idempotent."""
        self._threads.close()

    async def _run(
        self,
        work: Callable[[Connection], T],
        before: str,
        *,
        may_make: bool,
        only_asks: bool = False,
    ) -> T:
        def on_thread(turn: Turn) -> T:
            with (
                translated(only_asks=only_asks),
                closing(opened(self._datasource, may_make=may_make)) as connection,
                turn.on(connection),
            ):
                connection.execute(before)
                return work(connection)

        return await self._threads.run(on_thread)


def opened(datasource: Datasource, *, may_make: bool = False) -> Connection:
    """A connection without transactions of its own accord. It waits for locks as long as the
    datasource says. Whichever thread uses it, one at a time may. sqlite3.Error, and
    SqliteRefusedError where an app names what is not for apps."""
    if datasource.is_apps and is_closed(datasource.database):
        raise SqliteRefusedError(f"{datasource.database} is not for apps")
    uri = f"{Path(datasource.database).as_uri()}?mode={'rwc' if may_make else 'rw'}"
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=datasource.statement_timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.text_factory = _text
    return connection


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """The only writer until its end; all of it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _text(raw: bytes) -> str:
    """A file may hold bytes in a text column."""
    return raw.decode("utf-8", "replace")
