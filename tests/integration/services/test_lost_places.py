"""Where a database has forgotten what was not read yet, a listener says so and goes no further.
Where somebody stopped before a slot was moved, whoever comes next goes on behind the noted place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import cast

import pytest

from lockstep.databases import (
    ChangeBatch,
    DatabaseError,
    Following,
    Listening,
    RowOperation,
    TableShape,
    datasource_of_url,
    open_following,
    open_listening,
)
from lockstep.databases.postgres import following as followers
from lockstep.databases.postgres import listening as listeners
from lockstep.databases.postgres.slots import CHANGES_AT_ONCE
from lockstep.events import AttributeType, UnavailableError
from tests.integration.services.cluster import CLOCK
from tests.integration.services.test_changes import Database, started

NAME = "lockstep_0123456789abcdef"
LIMIT_S = 60
SHAPE = TableShape("sweets", ("id", "amount"), (AttributeType.LONG, AttributeType.DOUBLE), ("id",))
MANY = "INSERT INTO sweets SELECT n, 'n', 1 FROM generate_series(1000, {last}) n"
"""In one transaction: a look ends behind it."""
LATE = 777_777
Changes = AsyncGenerator[ChangeBatch | None, None]


class Remembered:
    """What outlives a listener."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    async def get(self, name: str) -> int:
        """0 at the start."""
        return self.values.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        """Kept."""
        self.values[name] = value


def listening_of(database: Database, memory: Remembered, table: str = "sweets") -> Listening:
    """Of the inserts alone."""
    return open_listening(
        datasource_of_url("shop", database.server.url), table, {RowOperation.INSERT}, NAME,
        memory, CLOCK, server_id=77, publication=None,
    )  # fmt: skip


async def ids_of(listening: Listening, count: int) -> list[object]:
    """So many, whatever they take."""
    found: list[object] = []
    while len(found) < count:
        rows = await listening.read(max_rows=2, wait_ms=5_000)
        assert rows, "nothing came in time"
        found += [one.entries["id"] for one in rows]
    return found


async def is_told_of_compressed_rows(database: Database) -> None:
    """The reader of the log would pass over them."""
    listening = listening_of(database, Remembered())
    assert list(await listening.read(max_rows=9, wait_ms=0)) == []
    await database.run(
        "SET GLOBAL log_bin_compress = 'ON'", "SET GLOBAL log_bin_compress_min_len = 10"
    )
    await database.run("INSERT INTO sweets VALUES (100, 'a name that is long enough', 1)")
    with pytest.raises(DatabaseError, match="is compressed"):
        await listening.read(max_rows=9, wait_ms=5_000)
    await listening.close()
    with pytest.raises(DatabaseError, match="log_bin_compress=ON"):
        await listening_of(database, Remembered()).read(max_rows=9, wait_ms=0)
    await database.run("SET GLOBAL log_bin_compress = 'OFF'")


FORGET = {
    "mariadb": ("FLUSH BINARY LOGS", "PURGE BINARY LOGS TO 'log.{next:06d}'"),
    "postgresql": (f"SELECT pg_drop_replication_slot('{NAME}')",),
}


LACKING = {"mariadb": "binlog_row_metadata=NO_LOG", "postgresql": "no table 'sweet'"}


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
async def test_a_place_that_is_gone_is_told(tmp_path: Path, kind: str) -> None:
    """What was read and not settled comes again; what nobody can tell any more is an error."""
    memory = Remembered()
    async with started(kind, tmp_path / kind) as database:
        first = listening_of(database, memory)
        assert list(await first.read(max_rows=9, wait_ms=0)) == []
        rows = [f"INSERT INTO sweets VALUES ({n}, 'n', 1)" for n in range(2, 6)]
        await database.run(*rows)
        await database.run("UPDATE sweets SET amount = 2")
        assert await ids_of(first, 4) == [2, 3, 4, 5]
        await first.close()
        second = listening_of(database, memory)
        assert await ids_of(second, 4) == [2, 3, 4, 5]
        await second.settle()
        await second.close()
        file = memory.values["at"] >> 32
        # A server keeps what somebody still reads, and does not hear at once that nobody does.
        await database.server.kill()
        await database.server.start()
        for statement in FORGET[kind]:
            await database.run(statement.format(next=file + 1))
        third = listening_of(database, memory)
        with pytest.raises(DatabaseError, match="are lost") as told:
            await third.read(max_rows=9, wait_ms=0)
        assert "database.server.name" in str(told.value.hint)
        await third.close()
        if kind == "mariadb":
            await is_told_of_compressed_rows(database)
            await database.run("SET GLOBAL binlog_row_metadata = 'NO_LOG'")
        fourth = listening_of(database, Remembered(), "sweet")
        with pytest.raises(DatabaseError, match=LACKING[kind]) as refused:
            await fourth.read(max_rows=1, wait_ms=0)
        assert refused.value.hint


def following_of(
    database: Database, memory: Remembered, *, statement_timeout_ms: int = 10_000
) -> Following:
    """A copy of the table."""
    datasource = datasource_of_url(
        "shop", database.server.url, statement_timeout_ms=statement_timeout_ms
    )
    return open_following(
        datasource, SHAPE, NAME, memory, CLOCK, poll_ms=100, life=1, publication=None
    )


def changes_of(following: Following) -> aclosing[Changes]:
    """To be ended with the block."""
    return aclosing(cast(Changes, following.changes()))


async def loaded(changes: Changes) -> None:
    """Until nothing new comes."""
    while await anext(changes) is not None:
        pass


async def followed_to(following: Following, last: int) -> list[object]:
    """The keys of the rows that come, up to this one."""
    found: list[object] = []
    async with asyncio.timeout(LIMIT_S), changes_of(following) as changes:
        while last not in found:
            batch = await anext(changes)
            found += [] if batch is None else batch.columns[0]
    await following.close()
    return found


async def cut(*_: object) -> None:
    """The connection breaks before the slot is moved."""
    raise UnavailableError("the database is away")


async def test_a_copy_goes_on_where_a_slot_was_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the slot still gives is as much as a look takes, and known. What lies behind comes."""
    memory = Remembered()
    async with started("postgresql", tmp_path / "postgresql") as database:
        first = following_of(database, memory)
        async with changes_of(first) as changes:
            await loaded(changes)
            await database.run(MANY.format(last=1000 + CHANGES_AT_ONCE))
            monkeypatch.setattr(followers, "advance", cut)
            batch = await anext(changes)
            assert batch is not None
            assert len(batch.kinds) == CHANGES_AT_ONCE + 1
            with pytest.raises(UnavailableError):
                await anext(changes)
        await first.close()
        monkeypatch.undo()
        await database.run(f"INSERT INTO sweets VALUES ({LATE}, 'late', 1)")
        assert await followed_to(following_of(database, memory), LATE) == [LATE]


async def test_a_listener_goes_on_where_a_slot_was_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a copy does."""
    memory = Remembered()
    async with started("postgresql", tmp_path / "postgresql") as database:
        first = listening_of(database, memory)
        assert list(await first.read(max_rows=9, wait_ms=0)) == []
        await database.run(MANY.format(last=1000 + CHANGES_AT_ONCE))
        found = await first.read(max_rows=2 * CHANGES_AT_ONCE, wait_ms=5_000)
        assert len(found) == CHANGES_AT_ONCE + 1
        monkeypatch.setattr(listeners, "advance", cut)
        with pytest.raises(UnavailableError):
            await first.settle()
        await first.close()
        monkeypatch.undo()
        await database.run(f"INSERT INTO sweets VALUES ({LATE}, 'late', 1)")
        second = listening_of(database, memory)
        assert await ids_of(second, 1) == [LATE]
        await second.close()
