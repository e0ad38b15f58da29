"""The audit log in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.rights.audit import AuditEntry
from lockstep.store.postgres.connection import available

_COLUMNS: Final = "at_ms, who, address, forwarded, method, route, path, app, status, node"
APPEND: Final = f"""
insert into lockstep.audit ({_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""  # noqa: S608
READ: Final = f"""
select {_COLUMNS}, id from lockstep.audit
where ($1::bigint is null or id < $1) and ($2::text is null or app = $2)
and ($3::text is null or who = $3)
order by id desc limit $4
"""  # noqa: S608


class PostgresAudit:
    """See contract.Audit."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def append(self, entries: Sequence[AuditEntry]) -> None:
        rows = [
            tuple(
                value.replace("\0", "") if isinstance(value, str) else value
                for value in (
                    one.at_ms, one.who, one.address, one.forwarded, one.method, one.route,
                    one.path, one.app, one.status, one.node,
                )
            )
            for one in entries
        ]  # fmt: skip
        async with available():
            await self._pool.executemany(APPEND, rows)

    async def read(
        self, *, before: int | None, limit: int, app: str | None = None, who: str | None = None
    ) -> Sequence[AuditEntry]:
        async with available():
            rows = await self._pool.fetch(READ, before, app, who, limit)
        return [AuditEntry(*row) for row in rows]

    async def trim(self, before_ms: int) -> int:
        async with available():
            done = await self._pool.execute(
                "delete from lockstep.audit where at_ms < $1", before_ms
            )
        return int(done.split()[-1])
