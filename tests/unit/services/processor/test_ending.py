"""The end of a layout's unit is stored once all of it is folded and published, and not before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.events import EventsRecord, Generation, InputEvent, Life, OutputId, TickRecord
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import ThreadOffload
from lockstep.plan import Plans
from lockstep.settings import load_settings
from lockstep.store import Deployment, Restoration, Revision
from lockstep.telemetry import NO_TRACES, Metrics, get_logger
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.leading import Lead, Published, Reach
from lockstep_services.processor.replica.replica import Replica, Trouble
from lockstep_services.processor.replica.running import Running, Wanted
from lockstep_services.processor.replica.site import labels_of
from lockstep_services.processor.revise.ending import LOOK_EVERY_MS, EndLoop
from lockstep_services.processor.state.engine import AppEngine, Engines

TEXT = "@app:name('A') define stream In (v int); from In select v insert into Out;"
LIFE = Life(7, 1)
EVENT, END = 1, 2
"""The positions of the log: behind the second one the next layout goes on."""


class Gated(ReferenceExecutor):
    """Folds when it may. `heavy`: the position that its worker dies of."""

    heavy: int | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.is_folding, self.may_fold = threading.Event(), threading.Event()

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Up to what is heavy."""
        self.is_folding.set()
        assert self.may_fold.wait(10)
        light = [one for one in entries if self.heavy is None or one.position < self.heavy]
        return replace(super().run_encoded(light), unfoldable=self.heavy)


class Unit:
    """A leading replica whose log has an event, and the record behind which its layout ends."""

    def __init__(self, threads: ThreadOffload) -> None:
        self.clock, plans = VirtualClock(0), Plans()
        plan = plans.of(TEXT)
        self.executor = Gated(plan)
        self.engine = AppEngine(
            plan, "v", self.executor, threads, 0, Engines(plans, lambda *_: self.executor, 10)
        )
        self.stored: list[tuple[int, int]] = []  # the position of each end, and its held rows
        revisions = SimpleNamespace(list=self._no_revisions, mark_verified=self._no_revisions)
        name = LogName("A", since_ms=7)
        site: Any = SimpleNamespace(
            settings=load_settings({}), clock=self.clock, log=get_logger(), labels=labels_of(name),
            metrics=Metrics(), traces=NO_TRACES, name=name, input=self,
            watch=SimpleNamespace(settled=lambda *_: 0), count=lambda *_: None,
            reached=lambda *_: None,
            world=SimpleNamespace(store=SimpleNamespace(revisions=revisions)),
        )  # fmt: skip
        self.deployment = Deployment("A", TEXT, "v", LIFE, 1, 1)
        self._plan = plan
        wanted = Wanted(AppView(self.deployment, plan), ("n",), site.settings.processor)
        running = Running(self.engine, Generation(LIFE, 0), wanted)
        lead = Lead(permit=object())  # type: ignore[arg-type]  # any will do
        lead.promote(True)
        published = Published(site, running, lead)
        self.reach = Reach(site, running, lead, published, 0, 0)
        self.wanted, self.fold = wanted, FoldLoop(site, running, lead, self.reach, published)
        publishing = Publishing(site, running, lead, published, Trouble())
        stores: Any = self
        self._end = EndLoop(Replica(site, running, lead, self.reach, published), publishing, stores)

    def want(self, deployment: Deployment) -> None:
        """From now on."""
        self.wanted.change(AppView(deployment, self._plan), ("n",))

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Whoever stores the end runs meanwhile."""
        task = asyncio.ensure_future(self._end.run())
        try:
            yield
        finally:
            task.cancel()

    async def until_folding(self) -> None:
        """A slice is under way."""
        async with asyncio.timeout(10):
            while not self.executor.is_folding.is_set():
                await asyncio.sleep(0.005)

    async def look(self) -> None:
        """Whoever stores the end has looked, and has got what it asked the engine for."""
        await self.clock.advance_ms(3 * LOOK_EVERY_MS)
        await self.engine.contents()

    async def read_encoded(self, after: int, **_: int) -> list[EncodedEntry]:
        """What is there."""
        event = encode_record(EventsRecord("In", 5, ((InputEvent(5, (1,)),),)))
        records = [(EVENT, event), (END, encode_record(TickRecord(6, layout=2)))]
        return [EncodedEntry(at, one) for at, one in records if at > after]

    async def _no_revisions(self, *_: object) -> list[Revision]:
        return []

    async def save_last(
        self, engine: AppEngine, state: Generation, key: tuple[str, str, int]
    ) -> Revision:
        """Noted."""
        position, contents = await engine.contents()
        self.stored.append((position, len(contents.rows)))
        return Revision("end", *key, "v", position, 1, 1, False, 1)


@pytest.fixture
def unit() -> Iterator[Unit]:
    """At its beginning."""
    threads = ThreadOffload("folding")
    found = Unit(threads)
    yield found
    found.executor.may_fold.set()
    threads.close()


async def test_no_end_is_stored_while_its_slice_is_folded_or_its_rows_are_held_back(
    unit: Unit,
) -> None:
    """Sinks read the logs of the layout before no further once the next one has begun."""
    with unit.ending():
        stepping = asyncio.ensure_future(unit.fold.step())
        await unit.until_folding()
        await unit.clock.advance_ms(3 * LOOK_EVERY_MS)
        unit.executor.may_fold.set()
        await stepping
        await unit.look()
        assert (len(unit.engine.outbox), unit.stored) == (1, [])
        unit.engine.outbox.published(OutputId(EVENT, 0), settled=END)
        await unit.look()
        assert unit.stored == [(END, 0)]


async def test_who_stops_in_front_of_the_end_has_not_ended(unit: Unit) -> None:
    """A coordinator decides about what it stops at; what comes of it belongs to the end."""
    unit.executor.heavy = EVENT
    unit.executor.may_fold.set()
    with unit.ending():
        await unit.fold.step()
        await unit.look()
        assert unit.engine.unfoldable == EVENT
        assert (unit.reach.has_ended, unit.stored) == (False, [])


async def test_a_restore_that_was_wanted_before_comes_before_the_end(unit: Unit) -> None:
    """The state that it goes over to is the one with which the next layout begins."""
    life = replace(LIFE, number=2)
    origin = replace(unit.deployment.origin, restoration=Restoration("earlier", life))
    unit.want(replace(unit.deployment, life=life, origin=origin))
    unit.executor.may_fold.set()
    with unit.ending():
        await unit.fold.step()
        unit.engine.outbox.published(OutputId(EVENT, 0), settled=END)
        await unit.look()
        assert (unit.reach.has_ended, unit.stored) == (True, [])
        unit.want(unit.deployment)  # as good as that it was restored
        await unit.look()
        assert unit.stored == [(END, 0)]
