"""The PostgreSQL adapter: every check that guards an epoch is made in the statement that writes."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.store.contract import Deployment, Removed, Revision, Stale, Written
from lockstep.store.naming import app_prefix
from lockstep.store.pauses import Pause, by_element
from lockstep.store.postgres import versions
from lockstep.store.postgres.accounts import PostgresAccounts
from lockstep.store.postgres.audit import PostgresAudit
from lockstep.store.postgres.batch import PostgresBatch
from lockstep.store.postgres.connection import (
    READ_COMMITTED,
    available,
    open_pool,
    transaction,
)
from lockstep.store.postgres.epochs import DEPLOYMENTS_EPOCH, PRESENT_EPOCH, pass_epoch
from lockstep.store.postgres.figures import PostgresFailovers, PostgresFigures
from lockstep.store.postgres.unchanged import Unchanged
from lockstep.store.rules import has_unseen, purgeable
from lockstep.store.stored import StoredDeployment
from lockstep.store.versions import Deploying

INSERT_DEPLOYMENT = """
insert into lockstep.deployments as one
    (app, text, version, generation, replicas, created_ms, updated_ms, settings)
select $1, $2, $3, $4::bigint, $5, $6, $7, $8 where $4::bigint = 1
on conflict (app) do update set text = excluded.text, version = excluded.version,
    generation = excluded.generation, replicas = excluded.replicas,
    created_ms = excluded.created_ms, updated_ms = excluded.updated_ms,
    settings = excluded.settings, removed = false, purged = false
where one.removed and one.created_ms < excluded.created_ms
returning app
"""
UPDATE_DEPLOYMENT = """
update lockstep.deployments set text = $2, version = $3, generation = $4::bigint, replicas = $5,
    updated_ms = $7, settings = $8, removed = false
where app = $1 and created_ms = $6 and generation = $4::bigint - 1 and not purged
    and ($9 or not removed)
returning app
"""
REMOVE_DEPLOYMENT = """
update lockstep.deployments set removed = true, purged = purged or $2,
    text = case when $2 then '' else text end,
    settings = case when $2 then '{}'::jsonb else settings end
where app = $1
"""
DEPLOYED_VERSIONS = "select app, version from lockstep.deployments where not removed"
DEPLOYMENT_COLUMNS = "app, text, version, generation, replicas, created_ms, updated_ms, settings"
PLACE = """
insert into lockstep.placements (app, nodes) values ($1, $2)
on conflict (app) do update set nodes = excluded.nodes
"""
PLACEMENT_GOES = "delete from lockstep.placements where app = $1"
UNITS_GO = """
delete from lockstep.placements where app = $1 or starts_with(app, $1 || chr(31))
"""
"""Also those of its units: `naming.UNIT_SEPARATOR`."""
PAUSES_GO = "delete from lockstep.pauses where app = $1"
PAUSE = """
insert into lockstep.pauses (app, element, since_ms, who, why) values ($1, $2, $3, $4, $5)
"""
REVISION_COLUMNS = (
    "id, app, group_name, partition, version, position, created_ms, size_bytes, verified, epoch"
)
SAVE_REVISION = f"""
insert into lockstep.revisions ({REVISION_COLUMNS}, checksum, state)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
on conflict (id) do update set verified = excluded.verified, epoch = excluded.epoch,
    checksum = excluded.checksum, state = excluded.state, size_bytes = excluded.size_bytes
"""  # noqa: S608  (constants of this module)
NEWEST_EPOCH = """
select coalesce(max(epoch), 0) from lockstep.revisions
where app = $1 and group_name = $2 and partition = $3
"""
LIST_REVISIONS = f"""
select {REVISION_COLUMNS} from lockstep.revisions
where app = $1 and group_name = $2 and partition = $3
order by position desc, created_ms desc, id desc
"""  # noqa: S608


PART_BYTES = 16_777_216
"""A state is written and read in parts of this size, each within the statement's time limit."""


PART = "select bytes from lockstep.revision_parts where revision_id = $1 and part = $2"


class DamagedRevisionError(LockstepError):
    """A stored state whose checksum does not fit."""

    fault = Fault.EXTERNAL


async def _read_deployed(pool: Any) -> Sequence[Deployment]:
    rows = await pool.fetch(
        f"select {DEPLOYMENT_COLUMNS} from lockstep.deployments"  # noqa: S608
        " where not removed order by app"
    )
    return tuple(StoredDeployment(**row).deployment for row in rows)


async def _read_placed(pool: Any) -> Mapping[str, Sequence[str]]:
    rows = await pool.fetch("select app, nodes from lockstep.placements")
    return MappingProxyType({row["app"]: tuple(row["nodes"]) for row in rows})


async def _has_unseen(connection: Any, app: str, beside: Sequence[Deployment] | None) -> bool:
    """By the row lock of the epoch, which this transaction has, nobody writes one meanwhile."""
    if beside is None:
        return False
    rows = await connection.fetch(DEPLOYED_VERSIONS)
    return has_unseen(app, (tuple(row) for row in rows), beside)


class PostgresDeployments:
    """See contract.Deployments."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._deployed = Unchanged(pool, "deployments", partial(_read_deployed, pool))
        self._placed = Unchanged(pool, "placements", partial(_read_placed, pool))

    async def put(
        self,
        deployment: Deployment,
        *,
        epoch: int,
        deploying: Deploying | None = None,
        revives: bool = True,
        beside: Sequence[Deployment] | None = None,
    ) -> Written | Stale:
        values = astuple(StoredDeployment.of(deployment))
        async with available(), self._pool.acquire() as connection:
            writing = connection.transaction(isolation=READ_COMMITTED)
            await writing.start()
            stale = await pass_epoch(connection, epoch)
            done = False
            if stale is None and not await _has_unseen(connection, deployment.app, beside):
                first = deployment.life.number == 1
                change = (
                    (INSERT_DEPLOYMENT, *values) if first else (UPDATE_DEPLOYMENT, *values, revives)
                )
                done = await connection.fetchval(*change) is not None
            if not done:
                await writing.rollback()
                return stale or Stale(
                    await connection.fetchval(PRESENT_EPOCH, DEPLOYMENTS_EPOCH) or 0
                )
            if deploying is not None:
                await versions.note(connection, deployment, deploying)
            await writing.commit()
            return Written()

    async def get(self, app: str) -> Deployment | None:
        async with available():
            row = await self._pool.fetchrow(
                f"select {DEPLOYMENT_COLUMNS} from lockstep.deployments"  # noqa: S608
                " where app = $1 and not removed",
                app,
            )
        return None if row is None else StoredDeployment(**row).deployment

    async def list(self) -> Sequence[Deployment]:
        async with available():
            return await self._deployed.get()

    async def remove(self, app: str, *, epoch: int, purge: bool = False) -> Written | Stale:
        purged = [(versions.PURGE, app)] if purge else []
        return await self._write(
            epoch,
            *purged,
            (REMOVE_DEPLOYMENT, app, purge),
            (UNITS_GO, app),
            ("delete from lockstep.levels where app = $1", app),
            (PAUSES_GO, app),
        )

    async def removed(self) -> Sequence[Removed]:
        async with available():
            rows = await self._pool.fetch(
                f"select purged, {DEPLOYMENT_COLUMNS} from lockstep.deployments"  # noqa: S608
                " where removed order by app"
            )
        return [Removed(StoredDeployment(*columns).deployment, purged) for purged, *columns in rows]

    async def put_placement(self, app: str, nodes: Sequence[str], *, epoch: int) -> Written | Stale:
        change = (PLACE, app, list(nodes)) if nodes else (PLACEMENT_GOES, app)
        return await self._write(epoch, change)

    async def placements(self) -> Mapping[str, Sequence[str]]:
        async with available():
            return await self._placed.get()

    async def put_drained(self, node: str, *, drained: bool, epoch: int) -> Written | Stale:
        change = (
            "insert into lockstep.drained (node) values ($1) on conflict do nothing"
            if drained
            else "delete from lockstep.drained where node = $1"
        )
        return await self._write(epoch, (change, node))

    async def drained(self) -> Sequence[str]:
        async with available():
            rows = await self._pool.fetch("select node from lockstep.drained order by node")
        return [row["node"] for row in rows]

    async def put_level(self, app: str, level: str, *, epoch: int) -> Written | Stale:
        return await self._write(
            epoch,
            (
                "insert into lockstep.levels (app, level) values ($1, $2)"
                " on conflict (app) do update set level = excluded.level",
                app,
                level,
            ),
        )

    async def levels(self) -> Mapping[str, str]:
        async with available():
            rows = await self._pool.fetch("select app, level from lockstep.levels")
        return {row["app"]: row["level"] for row in rows}

    async def put_pauses(self, app: str, pauses: Sequence[Pause], *, epoch: int) -> Written | Stale:
        these = [(PAUSE, app, one.element, one.since_ms, one.who, one.why) for one in pauses]
        return await self._write(epoch, (PAUSES_GO, app), *these)

    async def pauses(self) -> Sequence[Pause]:
        async with available():
            rows = await self._pool.fetch(
                "select app, element, since_ms, who, why from lockstep.pauses"
            )
        return by_element(Pause(*row) for row in rows)

    async def _write(self, epoch: int, *statements: tuple[Any, ...]) -> Written | Stale:
        """Each a statement and its values: all of them, if no newer epoch has written."""
        async with transaction(self._pool) as connection:
            stale = await pass_epoch(connection, epoch)
            if stale is not None:
                return stale
            for statement in statements:
                await connection.execute(*statement)
            return Written()


def _checksum(state: bytes) -> bytes:
    """A second for a gigabyte: not on the thread that renews leases."""
    return hashlib.sha256(state).digest()


class PostgresRevisions:
    """See contract.Revisions."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def save(self, revision: Revision, state: bytes) -> Written | Stale:
        """Stores state and metadata together, unless a newer epoch has written for this log."""
        log = (revision.app, revision.group, revision.partition)
        checksum = await asyncio.to_thread(_checksum, state)
        async with transaction(self._pool) as connection:
            await connection.execute(
                "select pg_advisory_xact_lock(hashtextextended($1, 0))", "/".join(map(str, log))
            )
            newest = await connection.fetchval(NEWEST_EPOCH, *log)
            if revision.epoch < newest:
                return Stale(newest)
            await connection.execute(
                SAVE_REVISION,
                revision.id, *log, revision.version, revision.position, revision.created_ms,
                revision.size_bytes, revision.verified, revision.epoch,
                checksum, state[:PART_BYTES],
            )  # fmt: skip
            await connection.execute(
                "delete from lockstep.revision_parts where revision_id = $1", revision.id
            )
            for start in range(PART_BYTES, len(state), PART_BYTES):
                await connection.execute(
                    "insert into lockstep.revision_parts (revision_id, part, bytes)"
                    " values ($1, $2, $3)",
                    revision.id,
                    start // PART_BYTES,
                    state[start : start + PART_BYTES],
                )
            return Written()

    async def mark_verified(self, revision_id: str) -> None:
        async with available():
            await self._pool.execute(
                "update lockstep.revisions set verified = true where id = $1", revision_id
            )

    async def list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        async with available():
            rows = await self._pool.fetch(LIST_REVISIONS, app, group, partition)
        return [Revision(*row) for row in rows]

    async def logs(self, app: str | None) -> Sequence[tuple[str, str, int]]:
        async with available():
            rows = await self._pool.fetch(
                "select distinct app, group_name, partition from lockstep.revisions"
                " where $1::text is null or app = $1",
                app,
            )
        return sorted(tuple(row) for row in rows)

    async def load(self, revision_id: str) -> bytes:
        """The state; LookupError when it is gone, DamagedRevisionError when it is not whole."""
        async with available(), self._pool.acquire() as connection:
            row = await connection.fetchrow(
                "select checksum, state from lockstep.revisions where id = $1", revision_id
            )
            if row is None:
                raise LookupError(f"revision {revision_id} is gone")
            # One piece of memory that grows: a large state is not there twice.
            whole, parts = io.BytesIO(), 1
            whole.write(row["state"])
            # A state replaced in between does not fit its checksum.
            while (part := await connection.fetchval(PART, revision_id, parts)) is not None:
                whole.write(part)
                parts += 1
        state = whole.getvalue()
        if await asyncio.to_thread(_checksum, state) != row["checksum"]:
            raise DamagedRevisionError("checksum does not fit", where=revision_id)
        return state

    async def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        going = [r.id for r in purgeable(await self.list(app, group, partition), keep)]
        return await self._delete("id = any($1::text[])", going) if going else 0

    async def delete(self, revision_ids: Sequence[str]) -> int:
        return await self._delete("id = any($1::text[])", tuple(revision_ids))

    async def _delete(self, condition: str, value: object) -> int:
        async with available():
            done = await self._pool.execute(
                f"delete from lockstep.revisions where {condition}",  # noqa: S608
                value,
            )
        return int(done.split()[-1])


class PostgresCursors:
    """See contract.Cursors."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def get(self, sink: str) -> int:
        async with available():
            found = await self._pool.fetchval(
                "select sequence from lockstep.cursors where sink = $1", sink
            )
        return int(found or 0)

    async def put(self, sink: str, sequence: int) -> None:
        async with available():
            await self._pool.execute(
                "insert into lockstep.cursors as c (sink, sequence) values ($1, $2)"
                " on conflict (sink) do update"
                " set sequence = greatest(c.sequence, excluded.sequence)",
                sink,
                sequence,
            )

    async def note(self, name: str) -> str:
        async with available():
            found = await self._pool.fetchval(
                "select note from lockstep.cursors where sink = $1", name
            )
        return found or ""

    async def put_note(self, name: str, text: str) -> None:
        async with available():
            await self._pool.execute(
                "insert into lockstep.cursors as c (sink, sequence, note) values ($1, 0, $2)"
                " on conflict (sink) do update set note = excluded.note",
                name,
                text,
            )

    async def names(self, app: str | None) -> Sequence[str]:
        async with available():
            rows = await self._pool.fetch(
                "select sink from lockstep.cursors where starts_with(sink, $1) order by sink",
                "" if app is None else app_prefix(app),
            )
        return [row["sink"] for row in rows]

    async def delete(self, names: Sequence[str]) -> int:
        async with available():
            done = await self._pool.execute(
                "delete from lockstep.cursors where sink = any($1::text[])", tuple(names)
            )
        return int(done.split()[-1])


class PostgresDocuments:
    """See contract.Documents."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def put(self, kind: str, name: str, text: str) -> None:
        async with available():
            await self._pool.execute(
                "insert into lockstep.documents (kind, name, text) values ($1, $2, $3)"
                " on conflict (kind, name) do update set text = excluded.text",
                kind, name, text,
            )  # fmt: skip

    async def first(self, kind: str, name: str, text: str) -> str:
        async with available():
            await self._pool.execute(
                "insert into lockstep.documents (kind, name, text) values ($1, $2, $3)"
                " on conflict (kind, name) do nothing",
                kind, name, text,
            )  # fmt: skip
        # Somebody may have taken away meanwhile what stood there: then nobody was before us.
        return await self.get(kind, name) or text

    async def get(self, kind: str, name: str) -> str | None:
        async with available():
            found: str | None = await self._pool.fetchval(
                "select text from lockstep.documents where kind = $1 and name = $2", kind, name
            )
        return found

    async def names(self, kind: str) -> Sequence[str]:
        async with available():
            rows = await self._pool.fetch(
                'select name from lockstep.documents where kind = $1 order by name collate "C"',
                kind,
            )
        return [row["name"] for row in rows]

    async def delete(self, kind: str, name: str) -> bool:
        async with available():
            done = await self._pool.execute(
                "delete from lockstep.documents where kind = $1 and name = $2", kind, name
            )
        return int(done.split()[-1]) > 0


class PostgresStore:
    """See contract.Store."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.deployments = PostgresDeployments(pool)
        self.versions = versions.PostgresVersions(pool)
        self.revisions = PostgresRevisions(pool)
        self.cursors = PostgresCursors(pool)
        self.documents = PostgresDocuments(pool)
        self.accounts = PostgresAccounts(pool)
        self.audit = PostgresAudit(pool)
        self.batch = PostgresBatch(pool)
        self.figures = PostgresFigures(pool)
        self.failovers = PostgresFailovers(pool)

    @classmethod
    async def connect(cls, dsn: str, *, max_connections: int, statement_timeout_ms: int) -> Self:
        """Connected, with the tables at this release's state; UnavailableError."""
        pool = await open_pool(
            dsn, max_connections=max_connections, statement_timeout_ms=statement_timeout_ms
        )
        return cls(pool)

    async def healthy(self) -> bool:
        try:
            async with available():
                return bool(await self._pool.fetchval("select 1") == 1)
        except UnavailableError:
            return False

    async def close(self) -> None:
        self._pool.terminate()
