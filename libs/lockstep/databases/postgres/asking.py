"""Rows of a PostgreSQL table by the values of some columns, many values at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.databases.contract import MAX_ANSWER_ROWS, TableShape, too_many
from lockstep.databases.datasources import Datasource
from lockstep.databases.postgres.connections import Connections
from lockstep.databases.postgres.errors import told
from lockstep.databases.postgres.values import CASTS, quoted, selected


class PostgresAsking:
    """See `Asking`."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._connections = Connections(
            datasource.dsn,
            max_connections=datasource.max_connections,
            statement_timeout_ms=datasource.statement_timeout_ms,
        )

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`."""
        possible = [key for key in keys if all(map(_is_storable, key))]
        if not possible:
            return []
        arrays = map(list, zip(*possible, strict=True))
        async with told(f"{self._datasource.name}.{shape.table}"):
            pool = await self._connections.pool()
            found = await pool.fetch(question(shape, equal), *arrays)
        if len(found) > MAX_ANSWER_ROWS:
            raise too_many(len(keys), shape.table)
        return [tuple(row) for row in found]

    async def close(self) -> None:
        """See `Asking`."""
        await self._connections.close()


def question(shape: TableShape, equal: Sequence[str]) -> str:
    """Quoted names and types alone; the values are parameters, an array a column."""
    kinds = dict(zip(shape.columns, shape.types, strict=True))
    arrays = ", ".join(f"${i}::{CASTS[kinds[one]]}[]" for i, one in enumerate(equal, start=1))
    names = ", ".join(f"k{i}" for i in range(len(equal)))
    same = " AND ".join(f"t.{quoted(one)} = k.k{i}" for i, one in enumerate(equal))
    columns = ", ".join(
        f"t.{selected(column, kind)}"
        for column, kind in zip(shape.columns, shape.types, strict=True)
    )
    return (
        f"SELECT {columns} FROM {quoted(shape.table)} AS t"  # noqa: S608
        f" JOIN unnest({arrays}) AS k({names}) ON {same} LIMIT {MAX_ANSWER_ROWS + 1}"
    )


def _is_storable(value: Any) -> bool:
    """No text of PostgreSQL has a NUL in it, and asking for one would fail for all keys."""
    return not isinstance(value, str) or "\0" not in value
