"""What was read of a table, and holds until one of its rows changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")

STAMP: Final = (
    "select md5(coalesce(string_agg(app || ' ' || xmin::text, ',' order by app), ''))"
    " from lockstep.{table}"
)
"""PostgreSQL gives each row the number of the transaction that has written it (`xmin`)."""


class Unchanged(Generic[T]):
    """Of a table with a row for each app. All services look every two seconds: while nothing
    changes, one line comes from the server, however many apps there are."""

    def __init__(self, pool: Any, table: str, read: Callable[[], Awaitable[T]]) -> None:
        """`read` asks for all rows."""
        self._pool = pool
        self._statement = STAMP.format(table=table)
        self._read = read
        self._last: tuple[str, T] | None = None

    async def get(self) -> T:
        """As it is now. Nobody may change what is given: others get it, too."""
        # Asked for first: what is written meanwhile changes the stamp, and is read once more.
        stamp = str(await self._pool.fetchval(self._statement))
        if self._last is None or self._last[0] != stamp:
            self._last = stamp, await self._read()
        return self._last[1]
