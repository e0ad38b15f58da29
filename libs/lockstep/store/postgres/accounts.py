"""Users, groups and tokens in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.rights.accounts import Account
from lockstep.store.postgres.connection import available, transaction

READ: Final = """
select r.revision, a.kind, a.name, a.text
from lockstep.accounts_revision r left join lockstep.accounts a on true
"""
PASS: Final = "update lockstep.accounts_revision set revision = revision + 1 where revision = $1"
REMOVE: Final = "delete from lockstep.accounts where kind = $1 and name = $2"
PUT: Final = """
insert into lockstep.accounts (kind, name, text) values ($1, $2, $3)
on conflict (kind, name) do update set text = excluded.text
"""


class PostgresAccounts:
    """See contract.Accounts."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def revision(self) -> int:
        async with available():
            found = await self._pool.fetchval("select revision from lockstep.accounts_revision")
        return int(found)

    async def read(self) -> tuple[int, Sequence[Account]]:
        """In one statement, which sees one state."""
        async with available():
            rows = await self._pool.fetch(READ)
        found = [Account(kind, name, text) for _, kind, name, text in rows if kind is not None]
        return int(rows[0]["revision"]), found

    async def change(
        self, put: Sequence[Account], remove: Sequence[tuple[str, str]], *, expected: int
    ) -> bool:
        """The row of the revision makes writers take turns."""
        async with transaction(self._pool) as connection:
            if (await connection.execute(PASS, expected)).split()[-1] != "1":
                return False
            await connection.executemany(REMOVE, list(remove))
            await connection.executemany(PUT, [(one.kind, one.name, one.text) for one in put])
            return True
