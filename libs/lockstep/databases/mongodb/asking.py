"""Documents of a collection by the values of some fields, many values at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.databases.contract import MAX_ANSWER_ROWS, TableShape, too_many
from lockstep.databases.datasources import Datasource
from lockstep.databases.mongodb.client import MongoClient
from lockstep.databases.mongodb.values import filter_of, row_of
from lockstep.events import AttributeType


class MongoAsking:
    """See `Asking`."""

    def __init__(self, datasource: Datasource) -> None:
        self._name = datasource.name
        self._client = MongoClient(datasource)

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`."""
        kinds = zip(shape.columns, shape.types, strict=True)
        floats = {name for name, kind in kinds if kind is AttributeType.FLOAT}
        found = await self._client.find(
            shape.table, filter_of(equal, keys, floats), shape.columns, MAX_ANSWER_ROWS + 1
        )
        if len(found) > MAX_ANSWER_ROWS:
            raise too_many(len(keys), shape.table)
        return [row_of(one, shape, f"{self._name}.{shape.table}") for one in found]

    async def close(self) -> None:
        """See `Asking`."""
        await self._client.close()
