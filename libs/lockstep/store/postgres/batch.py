"""Scheduled scripts in PostgreSQL: the statement that writes compares the revision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.store.contract import BatchEntry
from lockstep.store.postgres.connection import available

INSERT: Final = """
insert into lockstep.batch (kind, script, key, text, revision, is_open)
values ($1, $2, $3, $4, 1, $5) on conflict do nothing returning key
"""
UPDATE: Final = """
update lockstep.batch set text = $4, revision = revision + 1, is_open = $5
where kind = $1 and script = $2 and key = $3 and revision = $6 returning key
"""
GET: Final = """
select kind, script, key, text, revision, is_open from lockstep.batch
where kind = $1 and script = $2 and key = $3
"""
READ: Final = """
select kind, script, key, text, revision, is_open from lockstep.batch
where kind = $1 and ($2::text is null or script = $2) and (is_open or not $3)
order by script collate "C", key desc limit $4
"""
DELETE: Final = """
delete from lockstep.batch
where kind = $1 and script = $2 and ($3::bigint[] is null or key = any($3))
"""


class PostgresBatch:
    """See contract.BatchEntries."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def put(self, entry: BatchEntry) -> bool:
        text = entry.text.replace("\0", "")
        values = (entry.kind, entry.script, entry.key, text, entry.is_open)
        async with available():
            if entry.revision == 0:
                return await self._pool.fetchval(INSERT, *values) is not None
            return await self._pool.fetchval(UPDATE, *values, entry.revision) is not None

    async def get(self, kind: str, script: str, key: int) -> BatchEntry | None:
        async with available():
            row = await self._pool.fetchrow(GET, kind, script, key)
        return None if row is None else BatchEntry(*row)

    async def read(
        self, kind: str, script: str | None = None, *, open_only: bool = False, limit: int = 10_000
    ) -> Sequence[BatchEntry]:
        async with available():
            rows = await self._pool.fetch(READ, kind, script, open_only, limit)
        return [BatchEntry(*row) for row in rows]

    async def delete(self, kind: str, script: str, keys: Sequence[int] | None = None) -> int:
        async with available():
            done = await self._pool.execute(DELETE, kind, script, keys and list(keys))
        return int(done.split()[-1])
