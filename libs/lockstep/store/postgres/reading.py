"""Reading a sink's table from outside: for checks that want to see what really stands there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import asyncpg

from lockstep.store.postgres.connection import CONNECT_TIMEOUT_S, available
from lockstep.store.postgres.poolers import Connecting


async def read_rows(dsn: str, table: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """The columns of all rows, ordered by them; nothing when there is no such table.

    Raises UnavailableError.
    """
    listed = ", ".join(_quoted(column) for column in columns)
    statement = f"select {listed} from {_quoted(table)} order by {listed}"  # noqa: S608
    async with available():
        connection = await Connecting()(dsn, timeout=CONNECT_TIMEOUT_S)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        except asyncpg.UndefinedTableError:
            return []
        finally:
            await connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
