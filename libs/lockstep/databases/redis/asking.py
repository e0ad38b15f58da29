"""Rows of a table in Redis by their primary keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.databases.contract import TableShape
from lockstep.databases.datasources import Datasource
from lockstep.databases.redis.connections import RedisConnections, told
from lockstep.databases.redis.layout import asked_text, key_of, row_of


class RedisAsking:
    """See `Asking`. The whole primary key is among what is asked for; what else is asked for, who
    asks compares."""

    def __init__(self, datasource: Datasource) -> None:
        self._name = datasource.name
        self._connections = RedisConnections(datasource)

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`."""
        places = [equal.index(column) for column in shape.key]
        wanted: dict[str, dict[str, Any]] = {}
        for values in keys:
            texts = [asked_text(values[place]) for place in places]
            key = {column: values[place] for column, place in zip(shape.key, places, strict=True)}
            wanted[key_of(shape.table, texts)] = key
        where = f"{self._name}.{shape.table}"
        with told(where):
            found = await self._connections.hashes(list(wanted))
        return [
            row_of(shape, key, fields, where)
            for key, fields in zip(wanted.values(), found, strict=True)
            if fields
        ]

    async def close(self) -> None:
        """See `Asking`."""
        await self._connections.close()
