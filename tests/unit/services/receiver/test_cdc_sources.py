"""What a cdc source is known by, and how its changes are acknowledged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lockstep.bus import ForeignServers
from lockstep.clock import VirtualClock
from lockstep.connectors.cdc import LARGEST_SERVER_ID
from lockstep.control import AppView
from lockstep.databases import RowEvent, RowOperation
from lockstep.events import Life
from lockstep.frame import LeaseKeeper, Tasks
from lockstep.plan import build
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.store import Deployment, Origin
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.receiver import changes
from lockstep_services.receiver.changes import (
    ChangesMailbox,
    ChangeSources,
    label_of,
    operations_of,
    server_id_of,
)
from lockstep_services.receiver.feeds import SourceFeeds
from lockstep_services.receiver.health import SourceHealth
from lockstep_services.receiver.leases import BEYOND_TTL_MS, ReaderLeases
from lockstep_services.receiver.sources import Source, SourceBook

TTL_MS = 3_000
TEXT = (
    "@app:name('A') @source(type='cdc', url='jdbc:postgresql://h/d', username='u', password='p',"
    " table.name='t', operation='insert', {more} @map(type='keyvalue', @attributes(v='v')))"
    " define stream In (v int); from In select v insert into Out;"
)


def source_of(url: str = "mysql://h/d", operation: str = "insert", word: str = "x") -> Source:
    """One of an app."""
    given = {"type": "cdc", "url": url, "table.name": "t", "operation": operation, "password": word}
    elements = tuple(ast.Element(name, value) for name, value in given.items())
    return Source("App", "S", 0, "cdc", ast.Annotation("source", elements), None)


def test_a_source_is_what_it_reads() -> None:
    """Its place stays when its operations or its password change, and not when its database, or the
    life of the app's logs, is another."""
    label = label_of(source_of(), 1)
    assert label == label_of(source_of(operation="update,delete", word="y"), 1)
    assert label != label_of(source_of(url="mysql://other/d"), 1)
    assert label != label_of(source_of(), 2)


def test_a_server_id_is_given_or_the_sources_own() -> None:
    """Connector properties go before options, as in the older product."""
    label = label_of(source_of(), 1)
    assert 1 <= server_id_of({}, label) <= LARGEST_SERVER_ID
    assert server_id_of({}, label) == server_id_of({}, label)
    assert server_id_of({"database.server.id": "7"}, label) == 7
    both = {"database.server.id": "7", "connector.properties": "database.server.id=8"}
    assert server_id_of(both, label) == 8


def test_operations_in_any_case() -> None:
    """Several, with commas."""
    assert operations_of({"operation": "Insert, DELETE"}) == {
        RowOperation.INSERT,
        RowOperation.DELETE,
    }


class Listened:
    """Two changes, and a count of how often they were said to be durable."""

    def __init__(self) -> None:
        self.settled = 0
        self.forgotten = 0
        self.closed = False

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """Both."""
        return [RowEvent(f"{n}", RowOperation.INSERT, {"id": n, "name": "é"}) for n in (1, 2)]

    async def settle(self) -> None:
        """Counted."""
        self.settled += 1

    async def forget(self) -> None:
        """Counted."""
        self.forgotten += 1

    async def close(self) -> None:
        """Seen."""
        self.closed = True


async def test_a_place_is_noted_when_all_before_it_is_durable() -> None:
    """And not while a message is under way."""
    listened = Listened()
    mailbox = ChangesMailbox(listened, "t")
    first, second = await mailbox.read(max_messages=9, wait_ms=0)
    assert json.loads(first.payload) == {"id": 1, "name": "é"}
    assert first.headers == {"operation": "insert", "table": "t"}
    await first.acknowledge()
    before = listened.settled
    await mailbox.read(max_messages=9, wait_ms=0)
    assert listened.settled == before
    await second.acknowledge()
    await mailbox.close()
    assert (listened.settled, listened.closed) == (before, True)


class Elsewhere:
    """A lease that another receiver holds, or nobody."""

    held = False

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    async def run(self) -> None:
        """Nothing to do."""

    async def wait_held(self, limit_ms: int) -> bool:
        """Never, for this receiver."""
        await self._clock.sleep_ms(limit_ms)
        return False

    async def release(self) -> None:
        """There is nothing to give back."""


def view_of(more: str = "") -> AppView:
    """The app, with more options of its source."""
    text = TEXT.format(more=more)
    life, origin = Life(1, 1), Origin(0, 1)
    return AppView(Deployment("A", text, text, life, 1, 0, origin=origin), build(check(text)))


async def test_a_database_forgets_a_source_that_another_receiver_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have died just before the app was undeployed, or the source got another text. While
    the source is what it was, nothing is given back."""
    clock = VirtualClock()
    views = {"A": view_of()}
    listened: list[Listened] = []

    def opened(*_: object, **__: object) -> Listened:
        listened.append(Listened())
        return listened[-1]

    monkeypatch.setattr(changes, "open_listening", opened)
    catalogue: Any = SimpleNamespace(
        get=views.get, changes=1, pause=lambda *_: None, views=cast(Any, views.values())
    )
    book, tasks = SourceBook(catalogue), Tasks(clock, get_logger())
    leases = ReaderLeases(
        "source", lambda _: cast(LeaseKeeper, Elsewhere(clock)), tasks, get_logger(),
        lease_ttl_ms=TTL_MS,
    )  # fmt: skip
    feeds = SourceFeeds(
        cast(Any, None), catalogue, book, cast(Any, None), cast(Any, None),
        tasks, clock, leases, Vault(""),
        SourceHealth(catalogue, book, clock, Metrics(), retry_after_ms=1_000),
        changes=ChangeSources(catalogue, {}, cast(Any, None), clock, get_logger()),
        foreign=cast(ForeignServers, None),
    )  # fmt: skip

    async def forgotten() -> list[int]:
        await feeds.follow_catalogue()
        await clock.advance_ms(TTL_MS + BEYOND_TTL_MS)
        return [one.forgotten for one in listened]

    assert await forgotten() == [0]
    views["A"] = view_of("publication='p',")
    assert await forgotten() == [0, 0]
    views["A"] = view_of("database.server.name='again',")
    assert await forgotten() == [0, 1, 0]
    there = views.pop("A")
    await feeds.follow_catalogue()
    await clock.advance_ms(TTL_MS)
    views["A"] = there  # deployed again, and read by the other receiver by now
    assert await forgotten() == [0, 1, 0, 0]
    views.clear()
    assert await forgotten() == [0, 1, 0, 1]
    await feeds.stop()
