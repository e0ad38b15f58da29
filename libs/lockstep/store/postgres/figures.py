"""Figures of apps and failovers in PostgreSQL: each write is one statement, whatever the number of
its rows, in one transaction with the check of the epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep.store.contract import Stale, Written
from lockstep.store.figures import Failover, FigureRow, Grain, layout_ending
from lockstep.store.postgres.connection import available, transaction
from lockstep.store.postgres.epochs import pass_epoch

TABLES: Final = {Grain.FINE: "lockstep.figures_fine", Grain.COARSE: "lockstep.figures_coarse"}
ADD: Final = """
insert into {table} (app, at_ms, span)
select * from unnest($1::text[], $2::bigint[], $3::bytea[]) on conflict do nothing
"""
READ: Final = """
select app, at_ms, span from {table}
where ($1::text[] is null or app = any($1)) and at_ms >= $2 and at_ms < $3
order by app collate "C", at_ms
"""
ENDS: Final = "select min(at_ms), max(at_ms) from {table}"
TRIM: Final = "delete from {table} where at_ms < $1"

_COLUMNS: Final = (
    "app, group_name, partition, deployed_ms, epoch, at_ms, from_node, to_node, planned, why, "
    "gap_ms"
)
NOTE: Final = f"""
insert into lockstep.failovers ({_COLUMNS})
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing
"""  # noqa: S608
READ_FAILOVERS: Final = f"""
select {_COLUMNS} from lockstep.failovers
where at_ms >= $1 and at_ms < $2 and ($3::text is null or app = $3) and from_node <> ''
order by at_ms desc, app collate "C", group_name collate "C", partition, epoch desc limit $4
"""  # noqa: S608
LAST: Final = f"""
select distinct on (app, group_name, partition) {_COLUMNS} from lockstep.failovers
order by app, group_name, partition, deployed_ms desc, epoch desc
"""  # noqa: S608
TRIM_FAILOVERS: Final = """
delete from lockstep.failovers as one where one.at_ms < $1 and not (
    exists (
        select from unnest($2::text[], $3::text[]) as kept (app, ending)
        where kept.app = one.app
            and right(one.group_name, length(kept.ending)) = kept.ending)
    and not exists (
        select from lockstep.failovers as later
        where later.app = one.app and later.group_name = one.group_name
            and later.partition = one.partition
            and (later.deployed_ms, later.epoch) > (one.deployed_ms, one.epoch)))
"""


class PostgresFigures:
    """See contract.FiguresKept."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def add(self, grain: Grain, rows: Sequence[FigureRow], *, epoch: int) -> Written | Stale:
        columns = (
            [row.app for row in rows], [row.at_ms for row in rows], [row.span for row in rows],
        )  # fmt: skip
        async with transaction(self._pool) as connection:
            stale = await pass_epoch(connection, epoch)
            if stale is None:
                await connection.execute(_of(grain, ADD), *columns)
            return stale or Written()

    async def read(
        self, grain: Grain, apps: Sequence[str] | None, from_ms: int, to_ms: int
    ) -> Sequence[FigureRow]:
        async with available():
            rows = await self._pool.fetch(_of(grain, READ), apps and list(apps), from_ms, to_ms)
        return [FigureRow(*row) for row in rows]

    async def ends(self, grain: Grain) -> tuple[int, int] | None:
        async with available():
            first, last = await self._pool.fetchrow(_of(grain, ENDS))
        return None if first is None else (first, last)

    async def trim(self, grain: Grain, before_ms: int) -> None:
        async with available():
            await self._pool.execute(_of(grain, TRIM), before_ms)


def _of(grain: Grain, statement: str) -> str:
    return statement.format(table=TABLES[grain])


class PostgresFailovers:
    """See contract.Failovers."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def note(self, found: Sequence[Failover], *, epoch: int) -> Written | Stale:
        rows = [
            (
                one.app, one.group, one.partition, one.deployed_ms, one.epoch, one.at_ms,
                one.from_node, one.to_node, one.planned, one.why, one.gap_ms,
            )
            for one in found
        ]  # fmt: skip
        async with transaction(self._pool) as connection:
            stale = await pass_epoch(connection, epoch)
            if stale is None:
                await connection.executemany(NOTE, rows)
            return stale or Written()

    async def read(
        self, from_ms: int, to_ms: int, *, limit: int, app: str | None = None
    ) -> Sequence[Failover]:
        async with available():
            rows = await self._pool.fetch(READ_FAILOVERS, from_ms, to_ms, app, limit)
        return [Failover(*row) for row in rows]

    async def last(self) -> Sequence[Failover]:
        async with available():
            rows = await self._pool.fetch(LAST)
        return [Failover(*row) for row in rows]

    async def trim(self, before_ms: int, layouts: Mapping[str, int]) -> int:
        endings = [layout_ending(layout) for layout in layouts.values()]
        async with available():
            done = await self._pool.execute(TRIM_FAILOVERS, before_ms, list(layouts), endings)
        return int(done.split()[-1])
