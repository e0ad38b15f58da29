"""Sources on the bus: what a reader had taken is not lost when it is stopped."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from lockstep.bus import Mail
from lockstep.clock import VirtualClock
from lockstep.control import AppView, ConnectorState
from lockstep.events import Life
from lockstep.frame import Tasks, tasks
from lockstep.plan import build
from lockstep.secrets import Vault
from lockstep.siddhiql import check
from lockstep.sources import Place, Received
from lockstep.sources import Source as CarriedSource
from lockstep.store import Deployment, Pause
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.receiver import feeds, sources
from lockstep_services.receiver.carried import SourceSetupError
from lockstep_services.receiver.feeds import LOOK_AGAIN_MS, READ_WAIT_MS, SourceFeeds
from lockstep_services.receiver.health import SourceHealth
from lockstep_services.receiver.leases import ReaderLeases
from lockstep_services.receiver.messages import BusMessage
from lockstep_services.receiver.sources import SourceBook

TEXT = (
    "@app:name('A') @source(type='nats', destination='s', @map(type='json'))"
    " define stream In (v int); from In select v insert into Out;"
)


OURS = (
    "@app:name('A') @source(type='mqtt', url='tcp://h', topic='t', username='u',"
    " password='${secret:word}', @map(type='json'))"
    " define stream In (v int); from In select v insert into Out;"
)


async def _nothing() -> None:
    """Nobody waits for it."""


class SlowToClose:
    """A mailbox that has one message left when it has closed, which takes the server's time."""

    def __init__(self, clock: VirtualClock, number: int, answered: asyncio.Event) -> None:
        self._clock = clock
        self._number = number
        self._answered = answered
        self.closing = asyncio.Event()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        """Nothing comes."""
        await self._clock.sleep_ms(wait_ms)
        return ()

    async def close(self) -> Sequence[Mail]:
        """Once the server has answered."""
        self.closing.set()
        await self._answered.wait()
        return [Mail("s", b"%d" % self._number, {}, None, _nothing)]


class LibraryError(Exception):
    """Of a class that nobody here knows."""


class Broken(CarriedSource):
    """A source whose code fails until it is mended, and tells its password."""

    shared = True
    error: ClassVar[type[Exception] | None] = None
    reads: ClassVar[list[int]] = []

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._password = options["password"]
        self._clock = place.clock

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """When it was asked is noted."""
        self.reads.append(self._clock.monotonic_ms())
        if self.error is not None:
            raise self.error(f"who is {self._password}?")
        await self._clock.sleep_ms(wait_ms)
        return ()


def view(app: str, text: str) -> AppView:
    """Of an app that is deployed."""
    return AppView(Deployment(app, text, "1", Life(0, 1), 1, 0), build(check(text)))


class World:
    """Feeds of one app, by default of one whose source is on the bus."""

    def __init__(self, text: str = TEXT, secrets: str = "") -> None:
        self.clock = VirtualClock()
        self.pause: Pause | None = None
        self.answered = asyncio.Event()
        self.mailboxes: list[SlowToClose] = []
        self.taken: list[bytes] = []
        catalogue: Any = SimpleNamespace(
            views=[view("A", text)],
            changes=1,
            pause=lambda app, element: self.pause,
        )
        self.catalogue = catalogue
        book = SourceBook(catalogue)
        health = self.health = SourceHealth(
            catalogue, book, self.clock, Metrics(), retry_after_ms=1_000
        )
        tasks = Tasks(self.clock, get_logger())
        self.feeds = SourceFeeds(
            cast(Any, SimpleNamespace(mailbox=self._mailbox)),
            catalogue,
            book,
            cast(Any, SimpleNamespace(all=self._take)),
            cast(Any, SimpleNamespace(is_closed=lambda _: False)),
            tasks,
            self.clock,
            ReaderLeases("source", cast(Any, None), tasks, get_logger(), lease_ttl_ms=3_000),
            Vault(secrets),
            health,
            foreign=cast(Any, None),
        )

    @property
    def state(self) -> tuple[ConnectorState, bool]:
        """Of the source, and whether it is told."""
        (told,) = self.health.told()
        return told.state, told.element == "source:In.0.nats"

    async def _mailbox(self, pattern: str, name: str) -> SlowToClose:
        self.mailboxes.append(SlowToClose(self.clock, len(self.mailboxes), self.answered))
        return self.mailboxes[-1]

    async def _take(self, messages: Sequence[BusMessage]) -> None:
        self.taken += [message.payload for message in messages]


async def test_what_is_left_in_a_mailbox_is_taken_though_closing_it_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopping a task cancels it again and again until it has ended."""
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_S", 0.001)
    world = World()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(1)
    stopping = asyncio.create_task(world.feeds.stop())
    await world.mailboxes[0].closing.wait()
    await asyncio.sleep(0.02)
    assert world.taken == []
    world.answered.set()
    await asyncio.wait_for(stopping, 60)
    assert world.taken == [b"0"]


async def test_a_mailbox_that_is_exchanged_gives_what_it_had() -> None:
    """The next one listens before; stopped in between, both are emptied."""
    world = World()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(LOOK_AGAIN_MS + READ_WAIT_MS)
    assert [each.closing.is_set() for each in world.mailboxes] == [True, False]
    stopping = asyncio.create_task(world.feeds.stop())
    await world.clock.advance_ms(1)
    world.answered.set()
    await asyncio.wait_for(stopping, 60)
    assert sorted(world.taken) == [b"0", b"1"]


async def test_a_paused_source_has_no_mailbox_until_it_goes_on() -> None:
    """What was left in it is taken before it is called paused."""
    world = World()
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(2 * READ_WAIT_MS)
    assert world.state == (ConnectorState.RUNNING, True)
    world.pause = Pause("A", "source:In.0.nats", 0, "ann")
    await world.clock.advance_ms(READ_WAIT_MS)
    assert world.mailboxes[0].closing.is_set()
    assert world.state == (ConnectorState.RUNNING, True)
    world.answered.set()
    await world.clock.advance_ms(READ_WAIT_MS)
    assert (world.taken, world.state) == ([b"0"], (ConnectorState.PAUSED, True))
    await world.clock.advance_ms(2 * LOOK_AGAIN_MS)
    assert len(world.mailboxes) == 1
    world.pause = None
    await world.clock.advance_ms(READ_WAIT_MS)
    assert (len(world.mailboxes), world.state) == (2, (ConnectorState.RUNNING, True))
    await asyncio.wait_for(world.feeds.stop(), 60)


@pytest.mark.parametrize("error", [RuntimeError, LibraryError, re.error])
async def test_a_source_whose_code_fails_is_failed_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: type[Exception]
) -> None:
    """Its status says why, without secrets; between two attempts are pauses that grow."""
    monkeypatch.setattr(Broken, "error", error)
    monkeypatch.setattr(Broken, "reads", [])
    for module in (feeds, sources):
        monkeypatch.setattr(module, "carrier_of", lambda kind: Broken)
    (tmp_path / "word").write_text("hunter2")
    world = World(OURS, str(tmp_path))
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(60_000)
    (told,) = world.health.told()
    assert told.state is ConnectorState.FAILED
    assert f"{error.__name__}: who is" in told.reason
    assert "hunter2" not in f"{told.reason} {told.last_error}"
    assert world.feeds.troubles("A") == {"In": told.reason}
    pauses = [after - before for before, after in pairwise(Broken.reads)]
    assert pauses == [100, 200, 400, 800, 1_600, 3_200, *[5_000] * (len(pauses) - 6)]
    monkeypatch.setattr(Broken, "error", None)
    await world.clock.advance_ms(10_000)
    assert world.state[0] is ConnectorState.RUNNING
    await asyncio.wait_for(world.feeds.stop(), 60)


async def test_a_source_with_a_long_topic_is_read_and_so_are_those_behind_it() -> None:
    """22 characters of three bytes have more than a token of the bus once they are escaped."""
    long = TEXT.replace("'A'", "'Long'").replace("type='nats', destination='s'", "type='inMemory',")
    world = World(long.replace("inMemory',", f"inMemory', topic='{'城市' * 12}'"))
    world.catalogue.views.append(view("Then", TEXT.replace("'A'", "'Then'")))
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(READ_WAIT_MS)
    assert len(world.mailboxes) == 2
    told = [(each.app, each.state) for each in world.health.told()]
    assert told == [("A", ConnectorState.RUNNING), ("Then", ConnectorState.RUNNING)]
    world.answered.set()
    await asyncio.wait_for(world.feeds.stop(), 60)


async def test_a_source_whose_package_is_missing_hides_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told why it fails, at every receiver; the others are told as ever."""

    def missing(kind: str) -> None:
        raise SourceSetupError(f"{kind} needs a package")

    for module in (feeds, sources):
        monkeypatch.setattr(module, "carrier_of", missing)
    world = World(OURS)
    world.catalogue.views.append(view("Then", TEXT.replace("'A'", "'Then'")))
    await world.feeds.follow_catalogue()
    await world.clock.advance_ms(READ_WAIT_MS)
    told = [(each.app, each.state, each.reason) for each in world.health.told()]
    assert told == [
        ("A", ConnectorState.FAILED, "mqtt needs a package"),
        ("Then", ConnectorState.RUNNING, ""),
    ]
    world.answered.set()
    await asyncio.wait_for(world.feeds.stop(), 60)
