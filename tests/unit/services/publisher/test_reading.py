"""Reading what fills a batch: few records in one turn of the process, whatever is behind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lockstep.bus import LogName, OutputEntry, OutputLog
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import ClaimRecord, OutputRecord
from lockstep.events.outputs import NO_ROWS, RowsOfColumns, in_columns
from lockstep.sinks.objects import Gathering
from lockstep_services.publisher.reading import PIECE_RECORDS, read_batch, read_gathered
from tests.unit.services.publisher.parts import row

RECORDS = 1_000
ROWS_EACH = 2


def rows_of(entry: OutputEntry) -> RowsOfColumns:
    """All of a record."""
    return in_columns(entry.record.rows) if isinstance(entry.record, OutputRecord) else NO_ROWS


async def log_of(records: int) -> OutputLog:
    """With a claim in front."""
    log = await MemoryBus(MemoryCarrier(VirtualClock())).output_log(LogName("A"))
    await log.append(ClaimRecord(1, "node", 0), expected_sequence=0)
    for number in range(1, records + 1):
        rows = tuple(row(number, number, ordinal=one) for one in range(ROWS_EACH))
        await log.append(OutputRecord(1, rows), expected_sequence=number)
    return log


class Counting:
    """A log that notes how many records were read in each turn of the process."""

    def __init__(self, log: OutputLog) -> None:
        self._log = log
        self.turns = [0]

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        found = await self._log.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        self.turns[-1] += len(found)
        return found

    async def mark(self) -> None:
        """What else the process has to do, in each turn."""
        while True:
            await asyncio.sleep(0)
            self.turns.append(0)


async def test_who_is_far_behind_leaves_the_others_their_turn() -> None:
    """Each of several that read at once; the batch becomes as full as it may."""
    log = await log_of(RECORDS)
    counting = Counting(log)
    marking = asyncio.create_task(counting.mark())
    readers = 4
    found = await asyncio.gather(
        *(
            read_batch(counting, 0, rows_of, wanted_rows=10_000, max_records=500)
            for _ in range(readers)
        )
    )
    marking.cancel()
    assert [len(one) for one in found] == [500] * readers
    assert [entry.sequence for entry, _ in found[0]] == list(range(1, 501))
    assert max(counting.turns) <= readers * PIECE_RECORDS


@pytest.mark.parametrize(("wanted", "pieces"), [(1, 1), (128, 1), (129, 2), (600, 5)])
async def test_no_more_is_read_than_fills_the_batch(wanted: int, pieces: int) -> None:
    """But for the rest of a piece."""
    found = await read_batch(
        await log_of(RECORDS), 1, rows_of, wanted_rows=wanted, max_records=5_000
    )
    assert len(found) == pieces * PIECE_RECORDS


@pytest.mark.parametrize("records", [3, PIECE_RECORDS - 1, 2 * PIECE_RECORDS - 1])
async def test_what_is_there_does_not_wait_for_more(records: int) -> None:
    """Also where it ends with a piece."""
    found = await read_batch(
        await log_of(records), 0, rows_of, wanted_rows=10_000, max_records=5_000
    )
    assert len(found) == records + 1


async def test_rows_are_gathered_until_there_are_enough() -> None:
    """However many pieces they come in; no piece more, and no record is cut."""
    clock = VirtualClock()
    log = await log_of(RECORDS)
    found = await read_gathered(
        log, 0, rows_of, Gathering(300, 1_000), max_records=RECORDS, clock=clock, may=lambda: True
    )
    assert 300 <= sum(len(rows) for _, rows in found) < 300 + ROWS_EACH * PIECE_RECORDS
    few = await read_gathered(
        log, 0, rows_of, Gathering(300, 1_000), max_records=9, clock=clock, may=lambda: True
    )
    assert len(few) == 9


async def test_rows_are_gathered_for_an_interval_behind_the_first() -> None:
    """By the clock: what came before its end, and not what comes later."""
    clock = VirtualClock()
    log = await MemoryBus(MemoryCarrier(clock)).output_log(LogName("A"))
    await log.append(ClaimRecord(1, "node", 0), expected_sequence=0)
    reading = asyncio.ensure_future(
        read_gathered(
            log, 1, rows_of, Gathering(100, 1_000), max_records=100, clock=clock, may=lambda: True
        )
    )
    for number in (1, 2, 3, 4):
        await clock.advance_ms(400)
        await log.append(OutputRecord(1, (row(number, number),)), expected_sequence=number)
    await clock.advance_ms(1)
    found = await reading
    assert [entry.sequence for entry, _ in found] == [2, 3, 4]


async def test_who_may_no_more_gathers_nothing() -> None:
    """The rows are read again: by it, or by who may."""
    clock = VirtualClock()
    log = await log_of(3)
    answers = iter((True, False))
    found = await read_gathered(
        log, 0, rows_of, Gathering(100, 1_000), max_records=100, clock=clock,
        may=lambda: next(answers),
    )  # fmt: skip
    assert not found


async def test_records_without_rows_are_not_waited_with() -> None:
    """The cursor goes over them."""
    clock = VirtualClock()
    log = await log_of(3)
    found = await read_gathered(
        log, 0, lambda _: NO_ROWS, Gathering(100, 1_000), max_records=100, clock=clock,
        may=lambda: True,
    )  # fmt: skip
    assert len(found) == 4
