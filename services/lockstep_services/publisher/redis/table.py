"""A table in Redis: each row a hash, rows and cursor in one step, as in a database.

Exactly once: a step moves the cursor from where this publisher believes it to be, under the epoch
with which it took it over, or changes nothing. What the server forgets when it dies, with a log
that is not synced, is forgotten together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from lockstep.connectors.redis import RedisPlace
from lockstep.events import AttributeType, FencedError, OutputRow
from lockstep.plan import java
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.rdbms.changes import keyed_changes
from lockstep_services.publisher.rdbms.table_sink import Errors
from lockstep_services.publisher.redis.scripts import TAKE_OVER, TRANSACT

CURSOR: Final = "lockstep:sink:"
_PASSING: Final = (
    "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY",
    "TRYAGAIN", "UNKILLABLE", "max number of clients",
)  # fmt: skip


class RedisAwayError(Exception):
    """The server cannot be had just now, or lacks something for now."""


class RedisRefusedError(Exception):
    """The server does not let us do it."""


class RedisConnections:
    """To one server; opened when first used."""

    def __init__(self, place: RedisPlace, *, timeout_ms: int) -> None:
        self._place = place
        self._timeout_s = timeout_ms / 1000
        self._client: Any = None

    async def call(self, script: str, key: str, *arguments: str | bytes | int) -> Any:
        """A script over one key. RedisAwayError, RedisRefusedError."""
        if self._client is None:
            self._client = Redis(
                host=self._place.host,
                port=self._place.port,
                password=self._place.password or None,
                socket_timeout=self._timeout_s,
                socket_connect_timeout=self._timeout_s,
                retry=Retry(NoBackoff(), 0),  # a step that may have been made is asked about first
            )
        try:
            return await self._client.eval(script, 1, key, *arguments)
        except exceptions.AuthenticationError as error:
            raise RedisRefusedError(str(error)) from error
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            raise RedisAwayError(str(error) or "no answer in time") from error
        except exceptions.RedisError as error:
            if any(word in str(error) for word in _PASSING):
                raise RedisAwayError(str(error)) from error
            raise RedisRefusedError(str(error)) from error

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


class RedisTable:
    """See `TableDatabase`. Any row fits: what is refused, is refused as a whole."""

    away: Errors = (RedisAwayError, OSError)
    unfit: Errors = (RedisRefusedError,)

    def __init__(
        self, binding: SinkBinding, table: str, key: tuple[str, ...], connections: RedisConnections
    ) -> None:
        self._binding = binding
        self._table = table
        self._key = key
        self._connections = connections
        self._epoch = 0

    async def take_over(self) -> int:
        """See `TableDatabase`."""
        epoch, sequence = await self._connections.call(TAKE_OVER, CURSOR + self._binding.key)
        self._epoch = int(epoch)
        return int(sequence)

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        """See `TableDatabase`. An answer that got lost shows as another's cursor: who takes it
        over again finds it where it is."""
        arguments = [argument for row in self._rows(rows) for argument in row]
        moved = await self._connections.call(
            TRANSACT, CURSOR + self._binding.key, self._epoch, expected, up_to, *arguments
        )
        if moved != 1:
            raise FencedError("another publisher has taken this sink over", where=self._binding.key)

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """None of them for what it holds."""
        return []

    def _rows(self, rows: Sequence[OutputRow]) -> Iterator[list[str]]:
        """Each key with what it shall hold; first those that go."""
        schema = self._binding.schema
        changes = keyed_changes(rows, schema, self._key)
        at = [schema.names.index(name) for name in self._key]
        kinds = [schema.types[i] for i in at]
        for values in zip(*changes.deletes, strict=True):
            yield [key_of(self._table, kinds, values), "0"]
        for values in zip(*changes.upserts, strict=True):
            named = zip(schema.names, schema.types, values, strict=True)
            held = [
                part
                for name, kind, value in named
                if value is not None
                for part in (name, text_of(kind, value))
            ]
            yield [key_of(self._table, kinds, [values[i] for i in at]), str(len(held)), *held]


def key_of(table: str, kinds: Sequence[AttributeType], values: Sequence[Any]) -> str:
    """`table:key`, as the older product wrote it; of several attributes each has its `%` and `:`
    as `%25` and `%3A`, so that no two keys are one."""
    texts = [text_of(kind, value) for kind, value in zip(kinds, values, strict=True)]
    if len(texts) > 1:
        texts = [text.replace("%", "%25").replace(":", "%3A") for text in texts]
    return ":".join((table, *texts))


def text_of(kind: AttributeType, value: Any) -> str:
    """A value as Java writes it; objects have become JSON."""
    return java.text(value, single=kind is AttributeType.FLOAT)
