"""A table in Redis: each row a hash, rows and cursor in one step, as in a database.

Exactly once: a step moves the cursor from where this publisher believes it to be, under the epoch
with which it took it over, or changes nothing. What the server forgets when it dies, with a log
that is not synced, is forgotten together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lockstep.databases.redis.connections import (
    RedisAwayError,
    RedisConnections,
    RedisRefusedError,
)
from lockstep.databases.redis.layout import key_of
from lockstep.events import AttributeType, FencedError, OutputRow
from lockstep.plan import java
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.rdbms.changes import keyed_changes
from lockstep_services.publisher.rdbms.table_sink import Errors
from lockstep_services.publisher.redis.scripts import TAKE_OVER, TRANSACT

CURSOR: Final = "lockstep:sink:"


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
            yield [key_of_row(self._table, kinds, values), "0"]
        for values in zip(*changes.upserts, strict=True):
            named = zip(schema.names, schema.types, values, strict=True)
            held = [
                part
                for name, kind, value in named
                if value is not None
                for part in (name, text_of(kind, value))
            ]
            key = key_of_row(self._table, kinds, [values[i] for i in at])
            yield [key, str(len(held)), *held]


def key_of_row(table: str, kinds: Sequence[AttributeType], values: Sequence[Any]) -> str:
    """Where a row lies."""
    return key_of(table, [text_of(kind, value) for kind, value in zip(kinds, values, strict=True)])


def text_of(kind: AttributeType, value: Any) -> str:
    """A value as Java writes it; objects have become JSON."""
    return java.text(value, single=kind is AttributeType.FLOAT)
