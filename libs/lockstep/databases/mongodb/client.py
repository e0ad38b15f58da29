"""A client of one MongoDB, which only reads. The only module that imports pymongo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pymongo import AsyncMongoClient, errors
from pymongo.uri_parser import split_options

from lockstep.databases.contract import DatabaseError
from lockstep.databases.datasources import Datasource
from lockstep.events import UnavailableError
from lockstep.secrets.closed import refuse_closed

READ_AT_ONCE: Final = 1_000
Document = Mapping[str, Any]


class MongoClient:
    """Connects when it is first asked; the driver's pool has at most `max_connections`."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._client: AsyncMongoClient[dict[str, Any]] | None = None

    async def find(
        self, collection: str, which: Document, fields: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        """At most so many documents, with these fields and no others. Errors: UnavailableError,
        DatabaseError."""
        where = f"{self._datasource.name}.{collection}"
        shown = {"_id": 0, **dict.fromkeys(fields, 1)}
        try:
            found = self._opened()[self._datasource.database][collection].find(
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
            raise DatabaseError(str(error), where=where) from error

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _opened(self) -> AsyncMongoClient[dict[str, Any]]:
        """OSError for a key of the suite: an app says which file it is."""
        if self._client is None:
            if text := self._datasource.dsn.partition("?")[2]:
                options = split_options(text, validate=False)
                refuse_closed(options.get("tlsCertificateKeyFile", ""))
            limit_ms = self._datasource.statement_timeout_ms
            self._client = AsyncMongoClient(
                self._datasource.dsn,
                maxPoolSize=self._datasource.max_connections,
                serverSelectionTimeoutMS=limit_ms,
                connectTimeoutMS=limit_ms,
                timeoutMS=limit_ms,
            )
        return self._client
