"""Units of one process read an input log together: each of them all of it, and the bus once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.bus import InputLog, LogName, OutputLog
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.events import (
    OutputId,
    OutputRecord,
    OutputRow,
    Position,
    TickRecord,
    UnavailableError,
)
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep_services.processor.replica.reading import SharedReadings

NAME = LogName("A")
SIZE = len(encode_record(TickRecord(1)))


class Counted:
    """A log that counts what it is asked for."""

    def __init__(self, log: InputLog) -> None:
        self._log = log
        self.given = 0
        self.error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def read_encoded(self, after: Position, **more: Any) -> Sequence[EncodedEntry]:
        """UnavailableError once, if told so."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        found = await self._log.read_encoded(after, **more)
        self.given += len(found)
        return found


class Bus:
    """Gives counted logs; the second that is opened is the one that is read together."""

    def __init__(self) -> None:
        self.there = MemoryBus(MemoryCarrier(SystemClock()))
        self.opened: list[Counted] = []

    async def input_log(self, name: LogName, *, make: bool = True) -> Any:
        """As the bus."""
        self.opened.append(Counted(await self.there.input_log(name, make=make)))
        return self.opened[-1]

    @property
    def together(self) -> Counted:
        """The log of all."""
        return self.opened[1]


async def begun(units: int, *, limit_bytes: int = 10**6) -> tuple[Bus, InputLog, list[InputLog]]:
    """(the bus, who writes, the readers)."""
    bus = Bus()
    writer = await bus.there.input_log(NAME)
    readings = SharedReadings(bus, SystemClock(), limit_bytes)  # type: ignore[arg-type]
    return bus, writer, [await readings.open(NAME) for _ in range(units)]


async def some(log: InputLog, after: Position, count: int = 100, wait_ms: int = 200) -> list[int]:
    """The positions that a reading gives."""
    found = await log.read_encoded(after, max_records=count, max_bytes=10**6, wait_ms=wait_ms)
    return [each.position for each in found]


async def test_what_one_has_read_is_there_for_all() -> None:
    """Also for those who wait already, and the very same entries."""
    bus, writer, logs = await begun(3)
    waiting = [asyncio.create_task(some(log, 0, wait_ms=5_000)) for log in logs]
    await asyncio.sleep(0)
    await writer.append(TickRecord(1))
    assert await asyncio.gather(*waiting) == [[1], [1], [1]]
    assert [each.given for each in bus.opened] == [0, 1, 0, 0]


async def test_who_waits_goes_on_when_the_one_who_reads_goes() -> None:
    """It was cancelled, as a replica that ends is, or its server was away."""
    bus, writer, logs = await begun(3)
    reading, waiting = (asyncio.create_task(some(log, 0, wait_ms=5_000)) for log in logs[:2])
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    await writer.append(TickRecord(1))
    assert await waiting == [1]
    bus.together.error = UnavailableError("away")
    with pytest.raises(UnavailableError):
        await some(logs[0], 1)
    await writer.append(TickRecord(2))
    assert await some(logs[1], 1) == [2]


async def test_time_is_up_for_each_by_itself() -> None:
    """Nothing comes: each has nothing after its own time."""
    _, _, logs = await begun(2)
    found = await asyncio.gather(some(logs[0], 0, wait_ms=50), some(logs[1], 0, wait_ms=1))
    assert list(found) == [[], []]


async def test_who_falls_behind_reads_by_itself() -> None:
    """No more is kept than the limit; what all have read is not kept at all."""
    bus, writer, logs = await begun(2, limit_bytes=3 * SIZE)
    for _ in range(10):
        await writer.append(TickRecord(1))
    assert await some(logs[1], 0, 1) == [1]
    assert await some(logs[0], 1) == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert bus.together.given == 10
    assert await some(logs[1], 1, 3) == [2, 3, 4]
    assert await some(logs[1], 4, 4) == [5, 6, 7, 8]
    assert bus.together.given == 10
    assert await some(logs[1], 8) == [9, 10]


async def test_a_state_that_is_further_than_the_others() -> None:
    """Reads by itself first; then all go on from there."""
    bus, writer, logs = await begun(2)
    for _ in range(5):
        await writer.append(TickRecord(1))
    assert await some(logs[0], 3) == [4, 5]
    assert bus.together.given == 0
    await writer.append(TickRecord(1))
    assert await some(logs[1], 3) == [4, 5]
    assert await some(logs[1], 5) == [6]
    assert await some(logs[0], 5) == [6]
    assert bus.together.given == 1


async def test_an_output_log_is_read_together_too() -> None:
    """By those who wait for what comes; who looks for its place in the log does so alone."""
    there = MemoryBus(MemoryCarrier(SystemClock()))
    opened: list[AsyncMock] = []

    class Outputs:
        async def output_log(self, name: LogName, *, make: bool) -> OutputLog:
            log = await there.output_log(name, make=make)
            opened.append(AsyncMock(wraps=log.read))  # counts, and reads the real log
            log.read = opened[-1]  # type: ignore[method-assign]
            return log

    writer = await there.output_log(NAME)
    readings = SharedReadings(Outputs(), SystemClock(), 10**6)  # type: ignore[arg-type]
    logs = [await readings.open_output(NAME) for _ in range(3)]
    limits = {"max_records": 10, "max_bytes": 10**6}
    waiting = [asyncio.create_task(log.read(0, **limits, wait_ms=5_000)) for log in logs]
    await asyncio.sleep(0)
    row = OutputRow(OutputId(1, 0), "S", 1, ("a",))
    await writer.append(OutputRecord(1, [row], settled=1), expected_sequence=0)
    found = await asyncio.gather(*waiting)
    assert [[each.sequence for each in some] for some in found] == [[1], [1], [1]]
    assert found[0][0] is found[1][0] is found[2][0]
    assert [read.await_count for read in opened] == [0, 1, 0, 0]
    assert len(await logs[2].read(0, **limits, wait_ms=0)) == 1
    assert [read.await_count for read in opened] == [0, 1, 0, 1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=60), st.integers(1, 9))
def test_each_has_every_entry_once(steps: list[tuple[int, int]], kept: int) -> None:
    """In whatever order units read, appends come, and however little is kept."""

    async def go() -> None:
        _, writer, logs = await begun(3, limit_bytes=kept * SIZE)
        found: list[list[int]] = [[], [], []]
        last = 0
        for who, count in steps:
            if who == 3:
                for _ in range(count):
                    last = (await writer.append(TickRecord(1))).position
            else:
                own = found[who]
                own += await some(logs[who], own[-1] if own else 0, count, wait_ms=1)
        for log, own in zip(logs, found, strict=True):
            while len(own) < last:
                own += await some(log, own[-1] if own else 0)
            assert own == list(range(1, last + 1))

    asyncio.run(go())
