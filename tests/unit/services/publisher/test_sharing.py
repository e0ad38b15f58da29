"""What sinks read together is fetched once, and nobody waits for whoever is behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lockstep.bus import LogName, OutputEntry, OutputLog, OutputTail
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.events import ClaimRecord, OutputRecord, UnavailableError
from lockstep_services.publisher.sharing import KEPT_ROWS, SharedLog, SharedReads
from tests.contract.patience import PATIENCE_S
from tests.unit.services.publisher.parts import row

SINKS = 30
MUCH_BYTES = 100_000_000
LONG_MS = PATIENCE_S * 1_000


class Noted:
    """A log, with what was asked of it; `broken`: how often it is away."""

    def __init__(self, log: OutputLog) -> None:
        self._log = log
        self.asked: list[int] = []
        self.records = 0
        self.broken = 0

    async def tail(self) -> OutputTail:
        """Of the log."""
        return await self._log.tail()

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """Of the log."""
        self.asked.append(after)
        if self.broken:
            self.broken -= 1
            raise UnavailableError("away")
        found = await self._log.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        self.records += len(found)
        return found


class World:
    """A log in memory, as `log_of` fills it, and the sinks' views of it."""

    def __init__(self) -> None:
        self._bus = MemoryBus(MemoryCarrier(SystemClock()))
        self.opened: list[Noted] = []
        self.shared = SharedReads(self.open, SystemClock())
        self._end = 0

    async def open(self) -> Noted:
        """As a bus opens it."""
        self.opened.append(Noted(await self._bus.output_log(LogName("A"))))
        return self.opened[-1]

    async def append(self, records: int, rows_each: int = 1) -> None:
        """So many more; the first is a claim."""
        log = await self._bus.output_log(LogName("A"))
        for _ in range(records):
            rows = tuple(row(self._end + 1, 0, ordinal=one) for one in range(rows_each))
            record = OutputRecord(1, rows) if self._end else ClaimRecord(1, "node", 0)
            await log.append(record, expected_sequence=self._end)
            self._end += 1

    async def begin_again(self) -> None:
        """Removed, and made anew."""
        await self._bus.remove_logs(LogName("A"))
        self._end = 0

    @property
    def records(self) -> int:
        """That were read from the log, by all together."""
        return sum(one.records for one in self.opened)


async def some(log: SharedLog, after: int, wait_ms: int = LONG_MS) -> list[int]:
    """The sequences of one read."""
    found = await log.read(after, max_records=10, max_bytes=MUCH_BYTES, wait_ms=wait_ms)
    return [one.sequence for one in found]


async def follow(log: SharedLog, after: int, end: int) -> list[int]:
    """All behind `after` up to `end`."""
    found: list[int] = []
    while after < end:
        found += await some(log, after)
        after = found[-1]
    return found


async def test_what_all_want_is_read_once() -> None:
    """Whether it was there before, or comes while they wait; each is given all of it in order."""
    world = World()
    await world.append(25)
    sinks = [world.shared.for_sink() for _ in range(SINKS)]
    following = [asyncio.create_task(follow(one, 0, 40)) for one in sinks]
    while world.records < 25:
        await asyncio.sleep(0)
    await world.append(15)
    assert await asyncio.gather(*following) == [list(range(1, 41))] * SINKS
    assert world.records == 40
    assert len(world.opened) == 1


async def test_who_is_behind_reads_alone_until_he_has_caught_up() -> None:
    """And holds nobody up meanwhile."""
    world = World()
    await world.append(60)
    quick, slow = world.shared.for_sink(), world.shared.for_sink()
    assert await follow(quick, 50, 60) == list(range(51, 61))
    assert await follow(slow, 0, 60) == list(range(1, 61))
    front, own = world.opened
    assert front.asked == [50]
    assert own.asked == [0, 10, 20, 30, 40]
    waiting = [asyncio.create_task(some(one, 60)) for one in (quick, slow)]
    while len(front.asked) == 1:
        await asyncio.sleep(0)
    await world.append(1)
    assert await asyncio.gather(*waiting) == [[61], [61]]
    assert own.asked[-1] == 40


async def test_who_goes_ahead_leaves_the_others_their_own_way() -> None:
    """A cursor that is far in front of what was read so far."""
    world = World()
    await world.append(60)
    one, other = world.shared.for_sink(), world.shared.for_sink()
    assert await some(one, 0) == list(range(1, 11))
    assert await some(other, 50) == list(range(51, 61))
    assert await some(one, 10) == list(range(11, 21))
    assert await follow(one, 20, 60) == list(range(21, 61))


async def test_a_reader_that_ends_leaves_the_waiting_to_the_next() -> None:
    """Its sink was paused, or failed, while the others waited for what it would read."""
    world = World()
    await world.append(1)
    log = world.shared.for_sink()
    first = asyncio.create_task(some(log, 1))
    await asyncio.sleep(0)
    others = [asyncio.create_task(some(world.shared.for_sink(), 1)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    await world.append(1)
    assert await asyncio.gather(*others) == [[2]] * 3


async def test_a_bus_that_is_away_is_told_to_each_and_opened_anew() -> None:
    """The log may have to be made again."""
    world = World()
    await world.append(2)
    log = world.shared.for_sink()
    assert await some(log, 0) == [1, 2]
    world.opened[0].broken = 1
    with pytest.raises(UnavailableError):
        await some(log, 2, 0)
    await world.append(1)
    assert await some(log, 2) == [3]
    assert len(world.opened) == 2


async def test_nobody_waits_longer_than_he_may() -> None:
    """A reader at the same place may wait for much longer."""
    world = World()
    await world.append(1)
    patient = asyncio.create_task(some(world.shared.for_sink(), 1))
    await asyncio.sleep(0)
    other = world.shared.for_sink()
    assert await some(other, 1, 0) == []
    assert await some(other, 1, 20) == []
    assert not patient.done()
    await world.append(1)
    assert await patient == [2]


async def test_as_many_rows_are_kept_as_may_be() -> None:
    """Of the last record all of them."""
    world = World()
    await world.append(5, KEPT_ROWS // 2 + 1)
    one, other = world.shared.for_sink(), world.shared.for_sink()
    assert await some(one, 0) == [1, 2, 3, 4, 5]
    assert await some(other, 4) == [5]
    assert len(world.opened) == 1
    assert await some(other, 3) == [4, 5]
    assert len(world.opened) == 2


async def test_a_log_that_was_begun_again_has_nothing_of_before() -> None:
    """Whoever opens asks for its end first."""
    world = World()
    await world.append(9)
    assert len(await some(world.shared.for_sink(), 0)) == 9
    await world.begin_again()
    await world.append(3)
    log = world.shared.for_sink()
    assert (await log.tail()).sequence == 3
    assert await some(log, 0) == [1, 2, 3]
