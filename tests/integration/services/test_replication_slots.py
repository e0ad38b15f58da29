"""Followers of PostgreSQL that are far behind, and slots that nobody needs any more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lockstep.databases.postgres import following as followers
from lockstep.databases.postgres import listening as listeners
from lockstep.databases.postgres import slots
from tests.integration.services.test_changes import keeps_nothing, started
from tests.integration.services.test_lost_places import (
    LATE,
    LIMIT_S,
    Remembered,
    changes_of,
    followed_to,
    following_of,
    ids_of,
    listening_of,
    loaded,
)

STEP_BYTES = 1 << 20
STEPS = 4
OTHERS = (
    "CREATE TABLE other (id int, t text)",
    "INSERT INTO other SELECT n, repeat('x', 200) FROM generate_series(1, 30000) n",
    f"INSERT INTO sweets VALUES ({LATE}, 'late', 1)",
)
"""More of the log than so many steps, and then a change of the table."""
SLOW_PEEK = slots.PEEK.replace("SELECT data FROM", "SELECT data FROM pg_sleep(0.5),")


class Looks:
    """Up to where slots were looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.up_to: set[int] = set()
        for module in (followers, listeners):
            monkeypatch.setattr(module, "peek", self._peek)
            monkeypatch.setattr(module, "LOOK_BYTES", STEP_BYTES)

    async def _peek(self, connection: Any, slot: str, up_to: int, publication: str) -> slots.Seen:
        self.up_to.add(up_to)
        return await slots.peek(connection, slot, up_to, publication)


async def test_a_copy_that_is_far_behind_goes_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who stops before a batch is durable gets the same again, under its id."""
    memory = Remembered()
    looks = Looks(monkeypatch)
    async with started("postgresql", tmp_path / "postgresql") as database:
        first = following_of(database, memory)
        async with changes_of(first) as changes:
            await loaded(changes)
        await first.close()
        await database.run(*OTHERS)
        looks.up_to.clear()
        ids = []
        for _ in range(2):
            following = following_of(database, memory)
            async with asyncio.timeout(LIMIT_S), changes_of(following) as changes:
                while (batch := await anext(changes)) is None:
                    pass
                ids.append((batch.id, list(batch.columns[0])))
            await following.close()
        assert ids == [(ids[0][0], [LATE])] * 2
        assert len(looks.up_to) > STEPS


async def test_a_listener_that_is_far_behind_goes_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a copy does."""
    looks = Looks(monkeypatch)
    async with started("postgresql", tmp_path / "postgresql") as database:
        listening = listening_of(database, Remembered())
        assert list(await listening.read(max_rows=9, wait_ms=0)) == []
        await database.run(*OTHERS)
        looks.up_to.clear()
        assert await ids_of(listening, 1) == [LATE]
        assert len(looks.up_to) > STEPS
        await listening.close()


async def test_a_look_may_take_longer_than_a_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server reads again what it has read, from its oldest open transaction on."""
    monkeypatch.setattr(slots, "PEEK", SLOW_PEEK)
    async with started("postgresql", tmp_path / "postgresql") as database:
        following = following_of(database, Remembered(), statement_timeout_ms=400)
        async with changes_of(following) as changes:
            await loaded(changes)
            await database.run(f"INSERT INTO sweets VALUES ({LATE}, 'late', 1)")
            while (batch := await anext(changes)) is None:
                pass
            assert list(batch.columns[0]) == [LATE]
        await following.close()


async def test_slots_are_dropped_by_whoever_comes(tmp_path: Path) -> None:
    """Several at once, and though nobody remembers any more which there are."""
    async with started("postgresql", tmp_path / "postgresql") as database:
        memory = Remembered()
        assert await followed_to(following_of(database, memory), 1)
        assert not await keeps_nothing(database)
        await asyncio.gather(
            *(following_of(database, Remembered()).forget() for _ in range(4)),
            *(listening_of(database, Remembered()).forget() for _ in range(4)),
        )
        assert await keeps_nothing(database)
        await following_of(database, memory).forget()
