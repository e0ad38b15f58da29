"""A collection, read whole. A document is of one moment, and the collection is not: it may change
while the server goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.databases.comparing import MAX_COMPARED_ROWS, by_key
from lockstep.databases.contract import TableShape
from lockstep.databases.datasources import Datasource
from lockstep.databases.mongodb.client import MongoClient
from lockstep.databases.mongodb.values import row_of

Row = tuple[Any, ...]


class MongoLooking:
    """See `Looking`. Each look reads all."""

    def __init__(self, datasource: Datasource, shape: TableShape) -> None:
        self._shape = shape
        self._where = f"{datasource.name}.{shape.table}"
        self._client = MongoClient(datasource)

    async def look(self) -> Mapping[Row, Row] | None:
        """See `Looking`."""
        shape = self._shape
        found = await self._client.find(shape.table, {}, shape.columns, MAX_COMPARED_ROWS + 1)
        return await asyncio.to_thread(self._rows, found)

    def _rows(self, found: Sequence[Mapping[str, Any]]) -> Mapping[Row, Row]:
        """On a thread: of many documents it takes a while."""
        rows = (row_of(one, self._shape, self._where) for one in found)
        return by_key(rows, self._shape, self._where)

    async def close(self) -> None:
        """See `Looking`."""
        await self._client.close()
