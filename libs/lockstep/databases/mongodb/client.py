"""A client of one MongoDB, which only reads. The only module that imports pymongo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from pymongo import AsyncMongoClient, errors
from pymongo.uri_parser import split_options

from lockstep.databases.contract import DatabaseError, LoginRefusedError
from lockstep.databases.datasources import Datasource
from lockstep.events import UnavailableError
from lockstep.secrets.closed import refuse_closed
from lockstep.tls import Renewal, TlsFiles

READ_AT_ONCE: Final = 1_000
_LOGIN_REFUSED: Final = 18
Document = Mapping[str, Any]


@dataclass
class _Driver:
    """The driver's client, which has read the files of its uri. `asking`: questions under way."""

    client: AsyncMongoClient[dict[str, Any]]
    renewal: Renewal
    asking: int = 0


class MongoClient:
    """Connects when it is first asked; the driver's pool has at most `max_connections`. The driver
    reads certificates once, so another client of it takes over when their files change."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._driver: _Driver | None = None

    async def find(
        self, collection: str, which: Document, fields: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        """At most so many documents, with these fields and no others. Errors: UnavailableError,
        DatabaseError."""
        where = f"{self._datasource.name}.{collection}"
        shown = {"_id": 0, **dict.fromkeys(fields, 1)}
        try:
            async with self._opened() as client:
                found = client[self._datasource.database][collection].find(
                    dict(which), shown, limit=most, batch_size=READ_AT_ONCE
                )
                return await found.to_list(None)
        except (
            errors.ConnectionFailure,
            errors.ExecutionTimeout,
            errors.WaitQueueTimeoutError,
        ) as error:
            raise UnavailableError(f"the database is away: {error}", where=where) from error
        except OSError as error:  # of a file that its uri names
            raise DatabaseError(str(error), where=where) from error
        except errors.PyMongoError as error:
            if error.timeout:
                raise UnavailableError("no answer in time", where=where) from error
            if isinstance(error, errors.OperationFailure) and error.code == _LOGIN_REFUSED:
                raise LoginRefusedError(str(error), where=where) from error
            raise DatabaseError(str(error), where=where) from error

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.client.close()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[AsyncMongoClient[dict[str, Any]]]:
        """For a question. One that was replaced is closed behind its last question. OSError for a
        key of the suite: an app says which file it is."""
        before = self._driver
        if before is None or before.renewal.is_due():
            self._driver = self._made()
        driver = self._driver
        assert driver is not None
        driver.asking += 1
        try:
            if before is not None and before is not driver and not before.asking:
                await before.client.close()
            yield driver.client
        finally:
            driver.asking -= 1
            if driver is not self._driver and not driver.asking:
                await driver.client.close()

    def _made(self) -> _Driver:
        text = self._datasource.dsn.partition("?")[2]
        options = split_options(text, validate=False) if text else {}
        files = TlsFiles(
            options.get("tlsCAFile", ""),
            options.get("tlsCertificateKeyFile", ""),
            password=options.get("tlsCertificateKeyFilePassword", ""),
        )
        refuse_closed(files.certificate)
        renewal = Renewal(files)  # before the driver reads them: what changes meanwhile is new
        limit_ms = self._datasource.statement_timeout_ms
        client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            self._datasource.dsn,
            maxPoolSize=self._datasource.max_connections,
            serverSelectionTimeoutMS=limit_ms,
            connectTimeoutMS=limit_ms,
            timeoutMS=limit_ms,
        )
        return _Driver(client, renewal)
