"""Copied tables: who has lost the lease appends nothing more, and the end of one is everybody's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.databases import ChangeBatch, RowChange
from lockstep.databases.contract import batch_of
from lockstep.events import Life
from lockstep.frame import LeaseKeeper, Tasks
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.receiver import copies
from lockstep_services.receiver.copies import PAUSE_MS, CopyFeeds

TEXT = (
    "@app:name('A') define stream In (v int);"
    " @store(type='rdbms', mode='copy', table.name='t') @PrimaryKey('v') define table T (v int);"
    " from In join T on In.v == T.v select In.v as v insert into Out;"
)


class Keeper:
    """A lease that is held as long as the test wants."""

    def __init__(self, *, held: bool) -> None:
        self.held = held
        self.waited = 0

    async def run(self) -> None:
        """Nothing to do."""

    async def wait_held(self, limit_ms: int) -> bool:
        """At once, or never."""
        self.waited += 1
        await asyncio.sleep(0)
        return self.held

    async def release(self) -> None:
        """Nobody takes it."""


class World:
    """A receiver with one copied table, in which there is one row to read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, held: bool) -> None:
        self.clock = VirtualClock()
        self.keeper = Keeper(held=held)
        self.is_closed = True
        self.submitted: list[str] = []
        self.forgotten = self.closed = 0
        self.views = [AppView(Deployment("A", TEXT, "1", Life(0, 1), 1, 0), build(check(TEXT)))]
        monkeypatch.setattr(copies, "open_following", lambda *_, **__: self)
        self.feeds = CopyFeeds(
            cast(Any, SimpleNamespace(views=self.views)),
            cast(Any, SimpleNamespace(of=lambda _: self)),
            cast(Any, SimpleNamespace(is_closed=lambda _: self.is_closed)),
            Tasks(self.clock, get_logger()),
            self.clock,
            cast(Any, None),
            lambda _: cast(LeaseKeeper, self.keeper),
            lambda *_: cast(Any, None),
            lambda _: 1,
            Metrics(),
            get_logger(),
        )

    async def submit(self, _: Any, key: str) -> Any:
        """To the app's log."""
        self.submitted.append(key)
        return SimpleNamespace(duplicate=False)

    async def changes(self) -> AsyncIterator[ChangeBatch | None]:
        """The row, and then nothing."""
        yield batch_of("1", [[(RowChange.ROW, (7,))]], 1, None)
        while True:
            yield None
            await self.clock.sleep_ms(PAUSE_MS)

    def told(self, *, was_there: bool) -> None:
        """It was not."""

    async def forget(self) -> None:
        """Counted."""
        self.forgotten += 1

    async def close(self) -> None:
        """Counted."""
        self.closed += 1


@pytest.mark.parametrize("is_closed", [True, False])
async def test_who_lost_the_lease_while_it_waited_appends_nothing(
    monkeypatch: pytest.MonkeyPatch, *, is_closed: bool
) -> None:
    """Another receiver may have loaded the table anew meanwhile."""
    world = World(monkeypatch, held=True)
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(3 * PAUSE_MS)
    assert world.closed == 0
    world.keeper.held, world.is_closed = False, is_closed
    await world.clock.advance_ms(PAUSE_MS)
    assert (world.submitted, world.closed) == ([], 1)
    await world.feeds.stop()
    assert world.forgotten == 0


async def test_who_holds_the_lease_appends_when_the_processors_have_caught_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under the table's name and the batch's id."""
    world = World(monkeypatch, held=True)
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(3 * PAUSE_MS)
    assert world.submitted == []
    world.is_closed = False
    await world.clock.advance_ms(PAUSE_MS)
    assert world.submitted == ["copy/A/T/1"]
    await world.feeds.stop()


@pytest.mark.parametrize("held", [True, False])
async def test_a_database_forgets_a_table_whoever_holds_its_lease(
    monkeypatch: pytest.MonkeyPatch, *, held: bool
) -> None:
    """Its holder may have died just before the app was undeployed."""
    world = World(monkeypatch, held=held)
    await world.feeds.follow_catalogue()
    world.views.clear()
    await world.feeds.follow_catalogue()
    assert world.forgotten == 1
