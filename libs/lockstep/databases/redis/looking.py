"""A table in Redis, read whole: its keys are looked for, then each hash is read.

A row is of one moment, and the table is not: the server tells of no moment for several keys that
it finds one after the other. Notifications of keys would tell sooner, but the server sends each
once, to who listens at that moment, and only where it is set up to: so they can replace no look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from lockstep.databases.comparing import MAX_COMPARED_ROWS, by_key
from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.datasources import Datasource
from lockstep.databases.redis.connections import RedisConnections, told
from lockstep.databases.redis.layout import key_texts, pattern_of, read, row_of

READ_AT_ONCE: Final = 1_000
Row = tuple[Any, ...]


class RedisLooking:
    """See `Looking`. Each look reads all."""

    def __init__(self, datasource: Datasource, shape: TableShape) -> None:
        self._shape = shape
        self._where = f"{datasource.name}.{shape.table}"
        self._connections = RedisConnections(datasource)

    async def look(self) -> Mapping[Row, Row] | None:
        """See `Looking`."""
        shape = self._shape
        rows: list[Row] = []
        with told(self._where):
            keys = await self._connections.hash_keys(pattern_of(shape.table), MAX_COMPARED_ROWS)
            for at in range(0, len(keys), READ_AT_ONCE):
                part = keys[at : at + READ_AT_ONCE]
                found = await self._connections.hashes(part)
                rows += [
                    row_of(shape, self._key(key), fields, self._where)
                    for key, fields in zip(part, found, strict=True)
                    if fields
                ]
        return await asyncio.to_thread(by_key, rows, shape, self._where)

    async def close(self) -> None:
        """See `Looking`."""
        await self._connections.close()

    def _key(self, raw: bytes) -> dict[str, Any]:
        """Of a key of the server the values of the primary key."""
        shape = self._shape
        rest = raw.decode("utf-8", "replace")[len(shape.table) + 1 :]
        texts = key_texts(rest, len(shape.key))
        if texts is None:
            raise DatabaseError(
                f"the key {shape.table}:{rest} is not of {len(shape.key)} attributes",
                where=self._where,
                hint="@PrimaryKey names all that is in it, in its order",
            )
        kinds = dict(zip(shape.columns, shape.types, strict=True))
        return {
            column: read(text, column, kinds[column], self._where)
            for column, text in zip(shape.key, texts, strict=True)
        }
