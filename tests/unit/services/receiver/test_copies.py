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
from lockstep_services.receiver.leases import BEYOND_TTL_MS, ENDS_AT_ONCE, ReaderLeases

TTL_MS = 3_000
TEXT = (
    "@app:name('A') define stream In (v int);"
    " @store(type='rdbms', mode='copy', table.name='t') @PrimaryKey('v') define table T (v int);"
    " from In join T on In.v == T.v select In.v as v insert into Out;"
)


class Keeper:
    """A lease that is held as long as the test wants."""

    def __init__(self, clock: VirtualClock, *, held: bool) -> None:
        self.held = held
        self._clock = clock

    async def run(self) -> None:
        """Nothing to do."""

    async def wait_held(self, limit_ms: int) -> bool:
        """At once, or never."""
        await (asyncio.sleep(0) if self.held else self._clock.sleep_ms(limit_ms))
        return self.held

    async def release(self) -> None:
        """Nobody takes it."""


def view_of(app: str) -> AppView:
    """The app under a name."""
    text = TEXT.replace("'A'", f"'{app}'")
    return AppView(Deployment(app, text, "1", Life(0, 1), 1, 0), build(check(text)))


class World:
    """A receiver with one copied table, in which there is one row to read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, held: bool) -> None:
        self.clock = VirtualClock()
        self.tasks = Tasks(self.clock, get_logger())
        self.keeper = Keeper(self.clock, held=held)
        self.is_closed = True
        self.submitted: list[str] = []
        self.asked: list[str] = []
        self.forgetting = self.forgotten = self.closed = 0
        self.answers = asyncio.Event()
        self.answers.set()
        self.views = [view_of("A")]
        monkeypatch.setattr(copies, "open_following", lambda *_, **__: self)
        self.feeds = CopyFeeds(
            cast(Any, SimpleNamespace(views=self.views)),
            cast(Any, SimpleNamespace(of=lambda _: self)),
            cast(Any, SimpleNamespace(is_closed=lambda _: self.is_closed)),
            self.tasks,
            self.clock,
            cast(Any, None),
            ReaderLeases("copy", self._keeper_of, self.tasks, get_logger(), lease_ttl_ms=TTL_MS),
            lambda *_: cast(Any, None),
            lambda _: 1,
            Metrics(),
            get_logger(),
        )

    def _keeper_of(self, resource: str) -> LeaseKeeper:
        self.asked.append(resource)
        return cast(LeaseKeeper, self.keeper)

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
        """Counted; takes as long as the test wants."""
        self.forgetting += 1
        await self.answers.wait()
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
    await world.clock.advance_ms(0)
    world.views.clear()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(TTL_MS + BEYOND_TTL_MS)
    assert world.forgotten == 1
    await world.feeds.stop()
    assert world.tasks.names == frozenset()


async def test_a_table_that_is_followed_again_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same app is deployed again, and whoever holds the lease follows its table already, while
    a receiver without it is still at the end of the one before. That one's own start waits."""
    world = World(monkeypatch, held=False)
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(0)
    view = world.views.pop()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(TTL_MS)
    world.views.append(view)
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(0)
    assert world.asked == ["copy/A/T"]
    await world.clock.advance_ms(BEYOND_TTL_MS)
    assert (world.forgotten, world.asked) == (0, 2 * ["copy/A/T"])
    world.views.clear()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(TTL_MS + BEYOND_TTL_MS)
    assert world.forgotten == 1
    await world.feeds.stop()


async def test_an_app_that_comes_and_goes_behind_an_end_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own end comes behind the one before it, which found it wanted."""
    world = World(monkeypatch, held=False)
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(0)
    view = world.views.pop()
    await world.feeds.follow_catalogue()
    world.views.append(view)
    await world.feeds.follow_catalogue()
    world.views.clear()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(2 * (TTL_MS + BEYOND_TTL_MS))
    assert world.forgotten >= 1
    await world.feeds.stop()


async def test_ends_hold_up_no_other_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that does not answer is asked for a few tables at a time, and a receiver that
    stops waits for none of them."""
    world = World(monkeypatch, held=True)
    world.views[:] = [view_of(f"A{number}") for number in range(20)]
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(0)
    world.answers.clear()
    world.views[:] = [view_of("B")]
    await world.feeds.follow_catalogue()
    world.is_closed = False
    await world.clock.advance_ms(PAUSE_MS)
    assert world.submitted[-1] == "copy/B/T/1"
    assert world.forgetting == ENDS_AT_ONCE
    await world.feeds.stop()
    assert (world.forgotten, world.tasks.names) == (0, frozenset())
