"""Rows of several output logs, gathered up to what all of them have settled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from lockstep.bus import BusLimits, LogName, OutputEntry, OutputLog
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.control import Gathering, Mark, MarkWatch, send_mark
from lockstep.control.gathering import RowsForgottenError, before_position, complete_behind
from lockstep.events import ClaimRecord, OutputId, OutputRecord, OutputRow, UnavailableError

ONE, TWO = LogName("A", "g~1", 0), LogName("A", "g~1", 1)


def bus() -> MemoryBus:
    """On a carrier of its own."""
    return MemoryBus(MemoryCarrier(SystemClock(), BusLimits()))


def row(position: int, ordinal: int = 0, stream: str = "S") -> OutputRow:
    """Of one value, its position."""
    return OutputRow(OutputId(position, ordinal), stream, position, (position,))


async def written(on: MemoryBus, name: LogName, *records: list[OutputRow]) -> int:
    """A claim and these records; the sequence of the last."""
    log = await on.output_log(name)
    sequence = (await log.tail()).sequence
    if not sequence:
        await log.append(ClaimRecord(1, "me", 0), expected_sequence=0)
        sequence = 1
    for rows in records:
        await log.append(OutputRecord(1, rows), expected_sequence=sequence)
        sequence += 1
    return sequence


def mark(name: LogName, settled: int, sequence: int) -> Mark:
    """Of a log."""
    return Mark(name.app, name.group, name.partition, name.since_ms, settled, sequence)


@contextlib.asynccontextmanager
async def gathering(on: MemoryBus, after: int = 0, streams: str = "S") -> AsyncIterator[Gathering]:
    """Under way."""
    found = Gathering(
        on, [ONE, TWO], SystemClock(), after=after, max_rows=100, streams=frozenset(streams)
    )
    task = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task})


async def complete(found: Gathering, on: MemoryBus, position: int, *marks: Mark) -> None:
    """Says the marks again and again until all is there up to the position."""
    async with asyncio.timeout(10):
        while found.complete_to < position:
            for each in marks:
                await send_mark(on.topics, each)
            await asyncio.sleep(0.01)


def positions(found: Gathering, up_to: int) -> list[list[int]]:
    """Of the rows taken from each log."""
    return [[each.id.position for each in rows] for rows in found.take(up_to)]


async def test_nothing_is_complete_before_every_log_has_settled_it() -> None:
    """What one log has settled alone waits for the other."""
    on = bus()
    one = await written(on, ONE, [row(1), row(3)])
    two = await written(on, TWO, [row(2)])
    async with gathering(on) as found:
        await complete(found, on, 2, mark(ONE, 5, one), mark(TWO, 2, two))
        assert found.complete_to == 2
        assert positions(found, 2) == [[1], [2]]
        await complete(found, on, 5, mark(TWO, 5, two))
        assert positions(found, 5) == [[3], []]


async def test_records_say_themselves_how_far_they_reach() -> None:
    """No mark has to come."""
    on = bus()
    for name, position in ((ONE, 3), (TWO, 2)):
        log = await on.output_log(name)
        await log.append(OutputRecord(1, [row(position)], settled=5), expected_sequence=0)
    async with gathering(on) as found:
        await complete(found, on, 5)
        assert found.complete_to == 5
        assert positions(found, 5) == [[3], [2]]


async def test_a_mark_counts_once_its_records_are_read() -> None:
    """A mark may come before the rows that it speaks of."""
    watch = MarkWatch(bus().topics, "A")
    watch.take(mark(ONE, 7, 3))
    watch.take(mark(ONE, 9, 4))
    assert [watch.settled(ONE, sequence) for sequence in (2, 3, 4)] == [0, 7, 9]
    assert watch.settled(TWO, 4) == 0


async def test_older_and_repeated_marks_change_nothing() -> None:
    """Marks may come late and twice."""
    watch = MarkWatch(bus().topics, "A")
    for settled, sequence in ((9, 4), (7, 3), (9, 4)):
        watch.take(mark(ONE, settled, sequence))
    assert watch.settled(ONE, 4) == 9


async def test_a_reader_begins_behind_a_position() -> None:
    """Rows up to it are not given out again, also those that share a record with later ones."""
    on = bus()
    records = [[row(i), row(i, 1), row(i + 1)] for i in range(1, 40, 2)]
    one = await written(on, ONE, *records)
    two = await written(on, TWO)
    async with gathering(on, after=21) as found:
        await complete(found, on, 40, mark(ONE, 40, one), mark(TWO, 40, two))
        first, second = positions(found, 40)
        assert first == [i for i in range(22, 41) for _ in range(1 + i % 2)]
        assert second == []


async def test_only_the_streams_that_are_wanted_come() -> None:
    """Other rows of the logs are read over."""
    on = bus()
    one = await written(on, ONE, [row(1), row(1, 1, "Other"), row(2, 0, "Other")])
    two = await written(on, TWO)
    async with gathering(on) as found:
        await complete(found, on, 2, mark(ONE, 2, one), mark(TWO, 2, two))
        assert positions(found, 2) == [[1], []]


async def test_the_place_behind_a_position_is_found_in_any_log() -> None:
    """All rows of later positions stand behind it, and at most one record too many is read."""
    on = bus()
    await written(on, ONE, *([row(i)] for i in range(1, 60, 3)))
    log = await on.output_log(ONE)
    for position in range(62):
        behind = await before_position(log, position)
        entries = await log.read(behind, max_records=100, max_bytes=10**6, wait_ms=0)
        rows = [each for entry in entries if isinstance(entry.record, OutputRecord)
                for each in entry.record.rows]  # fmt: skip
        later = [each.id.position for each in rows if each.id.position > position]
        assert later == [i for i in range(1, 60, 3) if i > position]
        assert position == 0 or len(rows) - len(later) <= 2


async def test_a_reader_that_nobody_empties_stops_reading() -> None:
    """At most about `max_rows` of a log are held."""
    on = bus()
    one = await written(on, ONE, *([row(i, o) for o in range(50)] for i in range(1, 2_000)))
    two = await written(on, TWO)
    async with gathering(on) as found:
        async with asyncio.timeout(10):
            while not found.sequences()[ONE]:
                await asyncio.sleep(0.01)
        for _ in range(1_000):  # turns of the loop in which it could read on
            await asyncio.sleep(0)
        assert found.sequences()[ONE] < one // 2
        taken = 0
        async with asyncio.timeout(60):
            while taken < 1_999:
                await send_mark(on.topics, mark(ONE, 2_000, one))
                await send_mark(on.topics, mark(TWO, 2_000, two))
                await asyncio.sleep(0.01)
                taken += sum(len(rows) for rows in found.take(2_000)) // 50
        assert found.sequences()[ONE] == one


class GrowingLog:
    """A log that gets a row as soon as somebody has found its end."""

    def __init__(self, log: OutputLog) -> None:
        self._log = log
        self.tail = log.tail

    async def read(self, after: int, **limits: int) -> Sequence[OutputEntry]:
        """As the log's, and then the row."""
        found = await self._log.read(after, **limits)
        if not found:
            sequence = (await self._log.tail()).sequence
            await self._log.append(OutputRecord(2, [row(9)]), expected_sequence=sequence)
        return found


async def test_a_row_that_comes_meanwhile_is_not_taken_for_forgotten() -> None:
    """All rows of the log were trimmed, and only a claim is left, when the next one comes."""
    on = bus()
    await written(on, ONE, [row(5)])
    log = await on.output_log(ONE)
    await log.append(ClaimRecord(2, "next", 0), expected_sequence=2)
    await log.trim(2)
    assert await complete_behind(GrowingLog(log)) == 5  # type: ignore[arg-type]
    assert await complete_behind(log) == 8


class Cut(MemoryBus):
    """Its connection is lost when it is asked to lose it."""

    def __init__(self) -> None:
        super().__init__(MemoryCarrier(SystemClock(), BusLimits()))
        self.is_away = False
        self.refused = 0

    async def output_log(self, name: LogName, *, make: bool = True) -> OutputLog:
        """With reads that fail while the bus is away."""
        log = await super().output_log(name, make=make)
        read = log.read

        async def cut(after: int, **limits: int) -> Sequence[OutputEntry]:
            if self.is_away:
                self.refused += 1
                raise UnavailableError("the connection to the bus was lost")
            return await read(after, **{**limits, "wait_ms": 10})

        log.read = cut  # type: ignore[method-assign]
        return log


async def test_a_bus_that_is_away_for_a_while_is_waited_for() -> None:
    """What was read stays, and it goes on behind that."""
    on = Cut()
    one, two = await written(on, ONE, [row(1)]), await written(on, TWO, [row(2)])
    found = Gathering(on, [ONE, TWO], SystemClock(), after=0, max_rows=100, patience_ms=60_000)
    task = asyncio.create_task(found.run())
    await complete(found, on, 2, mark(ONE, 2, one), mark(TWO, 2, two))
    on.is_away = True
    async with asyncio.timeout(10):
        while on.refused < 2:
            await asyncio.sleep(0.01)
    on.is_away = False
    one, two = await written(on, ONE, [row(3)]), await written(on, TWO, [row(4)])
    await complete(found, on, 4, mark(ONE, 4, one), mark(TWO, 4, two))
    assert positions(found, 4) == [[1, 3], [2, 4]]
    assert not task.done()
    task.cancel()
    await asyncio.wait({task})


async def test_a_bus_that_stays_away_ends_it() -> None:
    """After its patience, which is none by default."""
    on = Cut()
    on.is_away = True
    await written(on, ONE, [row(1)])
    with pytest.raises(UnavailableError):
        await asyncio.wait_for(
            Gathering(on, [ONE], SystemClock(), after=0, max_rows=100).run(), timeout=10
        )


@pytest.mark.parametrize("has_newer", [True, False])
async def test_a_log_that_was_trimmed_for_a_newer_state_is_not_read_from_an_older_one(
    *, has_newer: bool
) -> None:
    """Rows would be missing. Without a newer state what is forgotten was not needed."""
    on = bus()
    last = await written(on, ONE, *([row(position)] for position in range(1, 9)))
    await (await on.output_log(ONE)).trim(last - 3)  # up to position 5

    async def newer() -> bool:
        return has_newer

    found = Gathering(on, [ONE], SystemClock(), after=1, max_rows=100, has_newer=newer)
    reading = asyncio.create_task(found.run())
    async with asyncio.timeout(10):
        if has_newer:
            with pytest.raises(RowsForgottenError, match="complete behind position 5 only"):
                await reading
            return
        await complete(found, on, 7)
    assert positions(found, 7) == [[6, 7]]
    reading.cancel()
    await asyncio.wait({reading})


async def test_rows_that_are_forgotten_while_they_are_read_are_not_skipped() -> None:
    """The reader is slow, and its log is trimmed in front of it."""
    on = bus()
    last = await written(on, ONE, *([row(position)] for position in range(1, 9)))

    async def nothing_newer() -> bool:
        return False

    found = Gathering(on, [ONE], SystemClock(), after=0, max_rows=1, has_newer=nothing_newer)
    reading = asyncio.create_task(found.run())
    async with asyncio.timeout(10):
        await complete(found, on, 7)
        later = await written(on, ONE, *([row(position)] for position in range(9, 13)))
        await (await on.output_log(ONE)).trim(later - 1)
        assert last < later - 1
        while not reading.done():
            found.take(8)
            await asyncio.sleep(0.01)
    with pytest.raises(RowsForgottenError, match="the log begins at"):
        await reading
