"""How often the catalogue reads all that is deployed, and that it looks at what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import Catalogue
from lockstep.control.catalogue import FORGET_MS
from lockstep.control.messages import DEPLOYMENTS_CHANGED
from lockstep.events import Life, UnavailableError
from lockstep.frame import Tasks
from lockstep.plan import Plans
from lockstep.store import Deployment
from lockstep.telemetry import Level, MetricName, Metrics, get_logger

T = TypeVar("T")


class Here:
    """Runs work at once."""

    async def run(self, work: Callable[[], T]) -> T:
        """See Offload."""
        return work()


class SlowStore:
    """Reading all deployments takes so long; there are none."""

    def __init__(self, clock: VirtualClock, takes_ms: int) -> None:
        self._clock = clock
        self._takes_ms = takes_ms
        self.reads = 0

    async def list(self) -> list[Any]:
        """Counted."""
        self.reads += 1
        await self._clock.sleep_ms(self._takes_ms)
        return []

    async def placements(self) -> dict[str, Any]:
        """None."""
        return {}


@pytest.mark.parametrize(
    ("takes_ms", "fewest", "most"), [(1, 150, 210), (50, 8, 12), (1_000, 1, 2)]
)
async def test_reading_leaves_time_for_other_work(takes_ms: int, fewest: int, most: int) -> None:
    """Deployments come a hundred times a second: reading all of them for each would take all of the
    time when they are many."""
    clock = VirtualClock()
    bus, store = MemoryBus(MemoryCarrier(clock)), SlowStore(clock, takes_ms)
    deployments: Any = store
    offload: Any = Here()
    catalogue = Catalogue(
        deployments, bus.topics, clock, get_logger(), offload, Plans(), poll_ms=60_000
    )
    tasks = Tasks(clock, get_logger())
    catalogue.start(tasks)
    await clock.advance_ms(10)
    for _ in range(200):
        await bus.topics.publish(DEPLOYMENTS_CHANGED, b"")
        await clock.advance_ms(10)
    assert fewest <= store.reads <= most
    await asyncio.wait_for(tasks.stop_all(), 30)


class SameStore:
    """Gives the very same list until another one is put, as PostgreSQL's does."""

    def __init__(self) -> None:
        self.listed: tuple[Deployment, ...] = ()
        self.put: dict[str, str] = {}
        self.is_away = False

    async def list(self) -> tuple[Deployment, ...]:
        """What was put last."""
        return self.listed

    async def levels(self) -> dict[str, str]:
        """What was put; UnavailableError when it is away."""
        if self.is_away:
            raise UnavailableError("away")
        return self.put

    async def placements(self) -> dict[str, Any]:
        """None."""
        return {}


def deployed(app: str) -> Deployment:
    """An app."""
    text = f"@app:name('{app}') define stream S (a int); from S select a insert into T;"
    return Deployment(app, text, app, Life(1_000, 1), 1, 1_000)


def watched(store: SameStore, clock: VirtualClock | None = None) -> tuple[Catalogue, Metrics]:
    """A catalogue over it."""
    clock = clock or VirtualClock()
    deployments: Any = store
    offload: Any = Here()
    metrics = Metrics()
    topics = MemoryBus(MemoryCarrier(clock)).topics
    catalogue = Catalogue(
        deployments, topics, clock, get_logger(), offload, Plans(),
        poll_ms=60_000, metrics=metrics,
    )  # fmt: skip
    return catalogue, metrics


async def test_a_level_counts_though_no_deployment_has_changed() -> None:
    """Of a list that is the one of before, the levels are not."""
    store = SameStore()
    catalogue, metrics = watched(store)
    store.listed = (deployed("A"),)
    await catalogue.refresh()
    assert metrics.level("A") is Level.BASIC
    store.put = {"A": "OFF"}
    await catalogue.refresh()
    assert metrics.level("A") is Level.OFF
    assert catalogue.changes == 1


async def test_an_undeployed_app_leaves_the_metrics() -> None:
    """With what its work still counts while it ends; one that comes again counts anew. Of an app
    that this process has not heard of yet nothing is lost."""
    store, clock = SameStore(), VirtualClock()
    catalogue, metrics = watched(store, clock)
    name: MetricName = "lockstep_receiver_events_accepted_total"

    async def counted(*apps: str) -> list[float]:
        for app in apps:
            metrics.count(name, app=app, stream="S")
        await catalogue.refresh()
        return [metrics.value(name, app=app, stream="S") for app in ("A", "B", "New")]

    store.listed = (deployed("A"), deployed("B"))
    await catalogue.refresh()
    assert await counted("A", "B", "New") == [1, 1, 1]
    store.listed = (deployed("B"),)
    assert await counted() == [0, 1, 1]
    await clock.advance_ms(FORGET_MS)
    assert await counted("A") == [0, 1, 1]
    assert b'app="A"' not in metrics.render()
    store.listed = (deployed("A"), deployed("B"))
    await catalogue.refresh()
    assert await counted("A") == [1, 1, 1]


async def test_a_new_list_counts_though_the_store_was_away_in_between() -> None:
    """What was read of it before it failed is read again."""
    store = SameStore()
    catalogue, _ = watched(store)
    await catalogue.refresh()
    store.listed, store.is_away = (deployed("A"),), True
    with pytest.raises(UnavailableError):
        await catalogue.refresh()
    assert not catalogue.views
    store.is_away = False
    await catalogue.refresh()
    assert [view.deployment.app for view in catalogue.views] == ["A"]


class BusyStore(SameStore):
    """One whose placements may take a while, as a round trip to a busy server does."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: asyncio.Event | None = None
        self.reads = 0

    async def list(self) -> tuple[Deployment, ...]:
        """Counted."""
        self.reads += 1
        return self.listed

    async def get(self, app: str) -> Deployment | None:
        """One of them."""
        return next((one for one in self.listed if one.app == app), None)

    async def placements(self) -> dict[str, Any]:
        """None, once it goes on."""
        if self.waits is not None:
            waits, self.waits = self.waits, None
            await waits.wait()
        return {}


async def test_a_reading_that_began_before_another_does_not_undo_it() -> None:
    """The poll reads, an app is deployed, a request looks for it: it stays known when the poll has
    ended. Who waited meanwhile shares what was begun after all of them had asked."""
    store = BusyStore()
    catalogue, _ = watched(store)
    await catalogue.refresh()
    goes_on = store.waits = asyncio.Event()
    poll = asyncio.create_task(catalogue.refresh())
    await asyncio.sleep(0)
    store.listed = (deployed("A"),)
    found = [asyncio.create_task(catalogue.find("A")) for _ in range(5)]
    await asyncio.sleep(0)
    goes_on.set()
    await poll
    assert all(await asyncio.gather(*found))
    assert catalogue.get("A") is not None
    assert (store.reads, catalogue.changes) == (3, 1)


async def test_a_reading_that_fails_leaves_it_to_the_next_one() -> None:
    """Who waited for it reads by itself."""
    store = BusyStore()
    catalogue, _ = watched(store)
    await catalogue.refresh()
    goes_on = store.waits = asyncio.Event()
    poll = asyncio.create_task(catalogue.refresh())
    await asyncio.sleep(0)
    store.listed = (deployed("A"),)
    found = [asyncio.create_task(catalogue.find("A")) for _ in range(2)]
    await asyncio.sleep(0)
    poll.cancel()
    goes_on.set()
    assert all(await asyncio.gather(*found))


class AwayStore(BusyStore):
    """One that a reading does not reach, once it goes on."""

    async def list(self) -> tuple[Deployment, ...]:
        """Counted; UnavailableError."""
        listed = await super().list()
        if self.waits is not None:
            await self.waits.wait()
        if self.is_away:
            raise UnavailableError("away")
        return listed


async def test_who_waits_while_the_store_is_away_shares_one_failure() -> None:
    """Twenty that would each find out by themselves would take twenty times as long."""
    store = AwayStore()
    catalogue, _ = watched(store)
    goes_on = store.waits = asyncio.Event()
    store.is_away = True
    first = asyncio.create_task(catalogue.refresh())
    await asyncio.sleep(0.01)
    assert store.reads == 1
    others = [asyncio.create_task(catalogue.refresh()) for _ in range(2)]
    await asyncio.sleep(0.01)
    goes_on.set()
    failures = await asyncio.gather(first, *others, return_exceptions=True)
    assert [str(one) for one in failures] == ["away"] * 3
    assert store.reads == 2
    store.is_away = False
    await catalogue.refresh()
    assert store.reads == 3


async def test_a_reading_goes_on_when_who_began_it_is_gone() -> None:
    """As long as somebody waits for it; then it is given up, and the next one begins."""
    store = AwayStore()
    catalogue, _ = watched(store)
    await catalogue.refresh()
    goes_on = store.waits = asyncio.Event()
    began, shares = (asyncio.create_task(catalogue.refresh()) for _ in range(2))
    await asyncio.sleep(0.01)
    began.cancel()
    await asyncio.sleep(0.01)
    assert (began.cancelled(), store.reads) == (True, 2)
    later, last = (asyncio.create_task(catalogue.refresh()) for _ in range(2))
    await asyncio.sleep(0.01)
    later.cancel()
    shares.cancel()
    await asyncio.sleep(0.01)
    assert (later.cancelled(), last.done(), store.reads) == (True, False, 3)
    goes_on.set()
    await last
    queued = store.waits = asyncio.Event()
    running = asyncio.create_task(catalogue.refresh())
    await asyncio.sleep(0.01)
    waits = asyncio.create_task(catalogue.refresh())
    await asyncio.sleep(0.01)
    waits.cancel()
    await asyncio.sleep(0.01)
    queued.set()
    await asyncio.gather(running, catalogue.refresh())
    assert store.reads == 5
