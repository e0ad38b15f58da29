"""A leader's marks: what its records say already is not said at once."""

from __future__ import annotations

import asyncio
import contextlib
import time
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.control import Mark
from lockstep.control.marks import mark_subject
from lockstep.events import OutputId, OutputRow
from lockstep.leader.protocol import Permit
from lockstep_services.processor.publish.marking import REPEAT_MS, MarkLoop
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.state.outbox import Outbox

NAME = LogName("A", "g~1", 0)
LONG_MS = 10 * REPEAT_MS


def permit(epoch: int, sequence: int) -> Permit:
    """Of an accepted claim."""
    return Permit.of_claim(claimed_epoch=epoch, accepted_epoch=epoch, sequence=sequence)


class Place:
    """A loop under way, beside a real outbox and real topics."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.published = SimpleNamespace(moved=asyncio.Event(), told=0)
        self.lead = Lead(permit=permit(1, 7))
        self.bus = MemoryBus(MemoryCarrier(SystemClock()))
        self.marks: list[Mark] = []

    async def hear(self) -> None:
        """All marks, until cancelled."""
        async for _, payload in await self.bus.topics.subscribe(mark_subject("A")):
            self.marks.append(msgspec.msgpack.decode(payload, type=Mark))

    def loop(self) -> MarkLoop:
        """Of a replica with this outbox."""
        site = SimpleNamespace(
            name=NAME, clock=SystemClock(), world=SimpleNamespace(bus=self.bus), log=None
        )
        running = SimpleNamespace(engine=SimpleNamespace(outbox=self.outbox))
        return MarkLoop(*cast(Any, (site, running, self.lead, self.published)))

    async def said(self, settled: int, within_ms: int = LONG_MS) -> Mark:
        """The first mark that says so."""
        async with asyncio.timeout(within_ms / 1000):
            while not (found := [each for each in self.marks if each.settled == settled]):
                await asyncio.sleep(0.001)
        return found[0]


@contextlib.asynccontextmanager
async def under_way(place: Place) -> Any:
    """Within the block."""
    tasks = [asyncio.create_task(place.hear()), asyncio.create_task(place.loop().run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_what_moves_without_rows_is_said_at_once_and_again() -> None:
    """Who reads the log cannot see it there."""
    place = Place()
    async with under_way(place):
        await place.said(0)
        place.outbox.add(5, ())
        place.published.moved.set()
        mark = await place.said(5, REPEAT_MS)
        assert (mark.log, mark.sequence) == (NAME, 7)
        async with asyncio.timeout(LONG_MS / 1000):
            while sum(each.settled == 5 for each in place.marks) < 3:
                await asyncio.sleep(0.01)


async def test_what_a_record_says_is_not_said_for_each_record() -> None:
    """But again and again, for releases that do not look there."""
    place = Place()
    async with under_way(place):
        await place.said(0)
        before, begun_s = len(place.marks), time.monotonic()
        for position in range(1, 51):
            place.outbox.add(position, (OutputRow(OutputId(position, 0), "S", 1, ("a",)),))
            place.published.told = place.outbox.settled_with(OutputId(position, 0))
            place.outbox.published(OutputId(position, 0))
            place.published.moved.set()
            await asyncio.sleep(0)
        assert place.outbox.settled == 50
        await place.said(50)
        repeats = 1000 * (time.monotonic() - begun_s) / REPEAT_MS
        assert len(place.marks) - before <= repeats + 1


async def test_who_does_not_lead_says_nothing() -> None:
    """Until it does."""
    place = Place()
    place.lead.permit = None
    async with under_way(place):
        place.outbox.add(5, ())
        place.published.moved.set()
        await asyncio.sleep(2 * REPEAT_MS / 1000)
        assert place.marks == []
        place.lead.permit = permit(2, 9)
        assert (await place.said(5)).sequence == 9
