"""Rows of an SQLite table by the values of some columns, many values at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.databases.contract import MAX_ANSWER_ROWS, TableShape, too_many
from lockstep.databases.datasources import Datasource
from lockstep.databases.sqlite.files import Connection, SqliteFile, told
from lockstep.databases.sqlite.values import quoted, read_rows, selected


class SqliteAsking:
    """See `Asking`. What a column's collation holds for equal comes too; who asks compares."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._file = SqliteFile(datasource)

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`."""
        statement = question(shape, equal, len(keys))
        values = [value for key in keys for value in key]

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute(statement, values).fetchmany(MAX_ANSWER_ROWS + 1)

        where = f"{self._datasource.name}.{shape.table}"
        with told(where):
            found = await self._file.ask(work)
        if len(found) > MAX_ANSWER_ROWS:
            raise too_many(len(keys), shape.table)
        return read_rows(found, shape, where)

    async def close(self) -> None:
        """See `Asking`."""
        self._file.close()


def question(shape: TableShape, equal: Sequence[str], count: int) -> str:
    """Quoted names alone; the values are parameters, key by key. The keys come first in the join:
    so an index of the table is used, or one that SQLite makes for the question."""
    names = [f"k{number}" for number in range(len(equal))]
    one = f"({', '.join('?' * len(equal))})"
    same = " AND ".join(
        f"t.{quoted(column)} = k.{name}" for column, name in zip(equal, names, strict=True)
    )
    return (
        f"WITH k({', '.join(names)}) AS (VALUES {', '.join([one] * count)})"  # noqa: S608
        f" SELECT {selected(shape, 't')} FROM k CROSS JOIN {quoted(shape.table)} AS t ON {same}"
    )
