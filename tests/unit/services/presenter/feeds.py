"""A feed on a bus of its own and a virtual clock, whose apps a test deploys by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from lockstep.bus import OutputLog
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.events import Life, OutputId, OutputRecord, OutputRow
from lockstep.frame import Tasks
from lockstep.plan import build
from lockstep.settings import load_settings
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.listeners import Listeners

TEXT = (
    "@app:name('A') define stream In (v int);"
    " from In select v insert into One; from In select v insert into Two;"
)
SETTINGS = load_settings({}).presenter


def view(text: str = TEXT, *, created_ms: int = 0) -> AppView:
    """A deployed app."""
    return AppView(Deployment("A", text, text, Life(created_ms, 1), 1, 0), build(check(text)))


class Apps:
    """A catalogue that has not looked into the store yet."""

    def __init__(self) -> None:
        self.stored = {"A": view()}
        self.views: Sequence[AppView] = ()

    async def find(self, app: str) -> AppView | None:
        """Looks into the store."""
        self.views = list(self.stored.values())
        return self.stored.get(app)


class World:
    """A feed that leads the topics, on a bus of its own."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.tasks = Tasks(self.clock, get_logger())
        self.listeners = Listeners(10, 10, Metrics())
        keeper: Any = SimpleNamespace(held=True)
        self.apps = Apps()
        self.feed = Feed(
            self.bus, cast(Any, self.apps), self.listeners, keeper, self.tasks, self.clock,
            SETTINGS, Metrics(),
        )  # fmt: skip

    async def publish(self, log: OutputLog, *streams: str) -> None:
        """A record with a row of each; its position is its value."""
        at = (await log.tail()).sequence
        rows = [
            OutputRow(OutputId(at + 1, i), name, 1, (at + 1,)) for i, name in enumerate(streams)
        ]
        await log.append(OutputRecord(1, tuple(rows)), expected_sequence=at)

    async def found(self) -> AppModels:
        """The app's models, once they know where its history ends."""
        models = await self.feed.find("A")
        assert models is not None
        await self.clock.advance_ms(0)
        return models

    async def upgrade(self, to: AppView) -> AppModels:
        """The next version's."""
        self.apps.stored["A"] = to
        self.apps.views = [to]
        await self.feed.follow_catalogue()
        models = self.feed.models("A")
        assert models is not None
        return models


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    """Its tasks end with the block."""
    world = World()
    try:
        yield world
    finally:
        await world.tasks.stop_all()
