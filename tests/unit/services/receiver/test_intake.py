"""The intake: what waits for what, how much is under way at once, and how submissions end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest

from lockstep.bus import Appended, Coded, InputLog, RecordTooLargeError
from lockstep.bus.together import one_by_one
from lockstep.clock import VirtualClock
from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InvalidEventError,
    StreamSchema,
    UnavailableError,
)
from lockstep.events.codec import (
    EncodedEntry,
    EventsHeader,
    decode_input,
    send_id_of,
    send_ids_in,
)
from lockstep_services.receiver.appending import TOGETHER_MAX_EVENTS, TOGETHER_MAX_RECORDS
from lockstep_services.receiver.intake import Intake
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.submissions import IntakeLimits, Receipt
from lockstep_services.receiver.values import RawEvent

SCHEMA = StreamSchema("S", (Attribute("v", AttributeType.INT),))
MAX_ABREAST = 3


class HeldLog:
    """Appends begin, and end when they are let."""

    def __init__(self) -> None:
        self.opened = 0
        self.begun: list[str] = []
        self.stored: list[int] = []
        self._held: dict[str, asyncio.Future[None]] = {}
        self._positions = itertools.count(1)

    async def open(self) -> InputLog:
        """As the bus gives it."""
        self.opened += 1
        await asyncio.sleep(0)
        return cast(InputLog, self)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        """Waits for `let`."""
        assert dedup_id is not None
        self.begun.append(dedup_id)
        held = self._held[dedup_id] = asyncio.get_running_loop().create_future()
        await held
        record = decode_input(payload)
        assert isinstance(record, EventsRecord)
        self.stored += [event.data[0] for chunk in record.chunks for event in chunk]
        return Appended(next(self._positions), False)

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        """As a bus does that can take but one at a time."""
        return await one_by_one(self, records)

    async def let(self, *names: str, error: Exception | None = None) -> None:
        """These end."""
        for name in names:
            held = self._held.pop(name)
            if error is None:
                held.set_result(None)
            else:
                held.set_exception(error)
        await settle()


async def settle() -> None:
    """Whatever can go on without the log does."""
    for _ in range(30):
        await asyncio.sleep(0)


def run_of(*values: int) -> Sequence[Run]:
    """A chunk of each value."""
    return [Run(SCHEMA, [(RawEvent((value,), None),) for value in values], 10 * len(values))]


@contextlib.asynccontextmanager
async def running(log: HeldLog, *, record_events: int = 100) -> AsyncIterator[Intake]:
    """An intake that runs."""
    limits = IntakeLimits(100_000, record_events, 5, MAX_ABREAST)
    names = itertools.count()
    intake = Intake(log.open, VirtualClock(), lambda: f"own{next(names)}", limits)
    task = asyncio.create_task(intake.run())
    try:
        yield intake
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_independent_submissions_do_not_wait_for_one_another() -> None:
    """Nor for what comes in an order, and that not for them; the log is opened once."""
    log = HeldLog()
    async with running(log) as intake:
        first = intake.submit(run_of(1), "a", in_order=False)
        second = intake.submit(run_of(2), "b", in_order=False)
        third = intake.submit(run_of(3), "c", in_order=True)
        await settle()
        assert sorted(log.begun) == ["a#0", "b#0", "c#0"]
        assert log.opened == 1
        await log.let("b#0")
        assert (first.done(), second.done(), third.done()) == (False, True, False)
        await log.let("c#0", "a#0")
        assert [each.result().first for each in (second, third, first)] == [1, 2, 3]
        assert intake.is_idle


async def test_no_more_than_the_limit_is_under_way() -> None:
    """The next begins when one has ended."""
    log = HeldLog()
    async with running(log) as intake:
        done = [intake.submit(run_of(n), f"k{n}", in_order=False) for n in range(6)]
        await settle()
        assert log.begun == ["k0#0", "k1#0", "k2#0"]
        await log.let("k1#0")
        assert log.begun[3:] == ["k3#0"]
        assert not intake.is_idle
        for name in ("k0", "k2", "k3", "k4", "k5"):
            await log.let(f"{name}#0")
        assert all(each.done() for each in done)


async def test_records_of_one_submission_stay_in_order() -> None:
    """The second begins when the first is durable."""
    log = HeldLog()
    async with running(log, record_events=2) as intake:
        done = intake.submit(run_of(1, 2, 3), "a", in_order=False)
        await settle()
        assert log.begun == ["a#0"]
        await log.let("a#0")
        assert log.begun == ["a#0", "a#1"]
        assert not done.done()
        await log.let("a#1")
        assert (done.result().first, done.result().last) == (1, 2)
        assert log.stored == [1, 2, 3]


async def test_what_comes_in_an_order_is_appended_one_by_one() -> None:
    """Messages of the bus, and what has no key; what is alike shares a record."""
    log = HeldLog()
    async with running(log) as intake:
        intake.submit(run_of(1), "a")
        intake.submit(run_of(2, 3), "b")
        intake.submit(run_of(4), None, in_order=False)
        intake.submit(run_of(5), None, in_order=False)
        await settle()
        assert log.begun == ["a#0"]
        for name in ("a#0", "b#0", "own0#0"):
            await log.let(name)
        assert log.stored == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("limit_bytes", [100_000, 500])
async def test_messages_that_come_together_share_a_record_with_their_keys(limit_bytes: int) -> None:
    """Each key beside its chunk, the same as if it had come alone; in halves, too."""
    shelf = Shelf(limit_bytes)
    intake = Intake(shelf.open, VirtualClock(), lambda: "own", IntakeLimits(10**6, 10**3, 5, 1))
    done = [intake.submit(run_of(n), f"k{n}") for n in range(20)]
    task = asyncio.create_task(intake.run())
    receipts = await asyncio.gather(*done)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    headers = [entry.header for _, entry in shelf.stored]
    found = [one for h in headers if isinstance(h, EventsHeader) for one in send_ids_in(h)]
    assert found == [send_id_of(f"k{n}#0") for n in range(20)]
    assert (len(shelf.stored) == 1) == (limit_bytes == 100_000)
    assert [one.first for one in receipts] == sorted(one.first for one in receipts)


async def test_one_that_fails_disturbs_no_other() -> None:
    """It alone is told."""
    log = HeldLog()
    async with running(log) as intake:
        bad = intake.submit(run_of(1), "bad", in_order=False)
        good = intake.submit(run_of(2), "good", in_order=False)
        await settle()
        await log.let("bad#0", error=UnavailableError("away"))
        assert isinstance(bad.exception(), UnavailableError)
        await log.let("good#0")
        assert good.result().first == 1
        assert intake.is_idle


@pytest.mark.parametrize("turns", [0, 1, 2, 30])
async def test_all_are_told_when_the_receiver_stops(turns: int) -> None:
    """Under way, waiting, or just about to begin."""
    log = HeldLog()
    async with running(log) as intake:
        done = [intake.submit(run_of(n), f"k{n}", in_order=False) for n in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
        intake.close()
    assert all("stopping" in str(each.exception()) for each in done)


class Shelf:
    """A log with a limit; `stored`: what it has taken."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self.stored: list[tuple[str, EncodedEntry]] = []
        self.together: list[int] = []

    async def open(self) -> InputLog:
        """As the bus gives it."""
        return cast(InputLog, self)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        """RecordTooLargeError over the limit."""
        assert dedup_id is not None
        if len(payload) > self._limit_bytes:
            raise RecordTooLargeError(len(payload), self._limit_bytes)
        self.stored.append((dedup_id, EncodedEntry(len(self.stored) + 1, payload)))
        return Appended(len(self.stored), False)

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        """All or none."""
        for payload, _ in records:
            if len(payload) > self._limit_bytes:
                raise RecordTooLargeError(len(payload), self._limit_bytes)
        self.together.append(len(records))
        return await one_by_one(self, records)


@pytest.mark.parametrize("limit_bytes", [100_000, 1_000])
async def test_a_cut_app_is_told_whose_its_events_are(limit_bytes: int) -> None:
    """Where that fits into the record. If it does not, the record is the one of an app that is not
    cut: a repeated send finds it."""
    shelf = Shelf(limit_bytes)
    intake = Intake(shelf.open, VirtualClock(), lambda: "own", IntakeLimits(10**6, 10**3, 5, 1))
    intake.appender.index = lambda events: ((b"by v", bytes(900)),)
    task = asyncio.create_task(intake.run())
    receipt = await intake.submit(run_of(1, 2), "a")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert receipt.last == 1
    ((dedup_id, stored),) = shelf.stored
    assert dedup_id == "a#0"
    assert isinstance(stored.header, EventsHeader)
    assert len(stored.header.keyings) == (limit_bytes == 100_000)


OTHER = StreamSchema("T", SCHEMA.attributes)


async def test_records_of_several_streams_are_appended_together() -> None:
    """In the order of their events, under ids of which each is found again; some at a time."""
    shelf = Shelf(100_000)
    intake = Intake(shelf.open, VirtualClock(), lambda: "own", IntakeLimits(10**6, 10**3, 5, 1))
    runs = [
        Run((SCHEMA, OTHER)[n % 2], [(RawEvent((n,), None),)], 10)
        for n in range(2 * TOGETHER_MAX_RECORDS + 1)
    ]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(intake.run())
        receipt = await intake.submit(runs, "a")
        task.cancel()
    assert (receipt.first, receipt.last) == (1, len(runs))
    assert intake.appender.last_position == len(runs)
    assert shelf.together == [TOGETHER_MAX_RECORDS, TOGETHER_MAX_RECORDS]
    assert [name for name, _ in shelf.stored] == [f"a#{n}" for n in range(len(runs))]
    records = [decode_input(entry.payload) for _, entry in shelf.stored]
    assert [each.stream for each in records if isinstance(each, EventsRecord)] == [
        run.schema.name for run in runs
    ]
    headers = [entry.header for _, entry in shelf.stored]
    ids = [send_ids_in(each) for each in headers if isinstance(each, EventsHeader)]
    assert ids == [[send_id_of(f"a#{n}")] for n in range(len(runs))]


async def test_many_events_are_not_written_at_the_same_time() -> None:
    """A large record is the last of those that are appended with it."""
    shelf = Shelf(1_000_000)
    intake = Intake(shelf.open, VirtualClock(), lambda: "own", IntakeLimits(10**6, 10**6, 5, 1))
    large = Run(OTHER, [(RawEvent((1,), None),) * TOGETHER_MAX_EVENTS], 10)
    task = asyncio.create_task(intake.run())
    receipt = await intake.submit([*run_of(1), large, *run_of(2), large, *run_of(3)], "a")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (receipt.first, receipt.last) == (1, 5)
    assert shelf.together == [2, 2]
    assert [name for name, _ in shelf.stored] == [f"a#{n}" for n in range(5)]


async def test_one_that_is_too_large_is_cut_where_it_stands() -> None:
    """Those beside it are appended as they are, under the same ids."""
    shelf = Shelf(1_500)
    intake = Intake(shelf.open, VirtualClock(), lambda: "own", IntakeLimits(10**6, 10**3, 5, 1))
    large = Run(OTHER, [(RawEvent((n,), None),) for n in range(900)], 10)
    runs = [*run_of(1), large, *run_of(2)]
    task = asyncio.create_task(intake.run())
    receipt = await intake.submit(runs, "a")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (receipt.first, receipt.last) == (1, len(shelf.stored))
    assert shelf.together == []
    names = [name for name, _ in shelf.stored]
    assert (names[0], names[-1]) == ("a#0", "a#2")
    assert len(names) > 3
    assert all(name.startswith("a#1.") for name in names[1:-1])


BAD = [Run(SCHEMA, [(RawEvent(("no number",), None),)], 10)]


async def outcomes(
    shelf: Shelf, sent: Sequence[tuple[Sequence[Run], str | None]]
) -> list[Receipt | BaseException]:
    """How submissions that come together end."""
    names = itertools.count()
    limits = IntakeLimits(10**6, 10**6, 5, 1)
    intake = Intake(shelf.open, VirtualClock(), lambda: f"own{next(names)}", limits)
    done = [intake.submit(runs, key) for runs, key in sent]
    task = asyncio.create_task(intake.run())
    found = await asyncio.gather(*done, return_exceptions=True)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


def values_in(shelf: Shelf) -> list[list[int]]:
    """What each record holds."""
    records = [decode_input(entry.payload) for _, entry in shelf.stored]
    return [
        [event.data[0] for chunk in record.chunks for event in chunk]
        for record in records
        if isinstance(record, EventsRecord)
    ]


@pytest.mark.parametrize("has_keys", [True, False])
async def test_one_at_fault_disturbs_no_neighbour(has_keys: bool) -> None:
    """Those that would have shared its record have records of their own, in their order."""
    shelf = Shelf(100_000)
    runs = [run_of(1), BAD, run_of(2), BAD, run_of(3)]
    found = await outcomes(shelf, [(r, f"k{n}" if has_keys else None) for n, r in enumerate(runs)])
    assert [type(each) for each in found] == [
        Receipt, InvalidEventError, Receipt, InvalidEventError, Receipt,
    ]  # fmt: skip
    assert [each.first for each in found if isinstance(each, Receipt)] == [1, 2, 3]
    assert values_in(shelf) == [[1], [2], [3]]
    if has_keys:
        assert [name for name, _ in shelf.stored] == ["k0#0", "k2#0", "k4#0"]


async def test_what_is_durable_is_not_appended_again() -> None:
    """Beside what turned out to be too large; its sender has its receipt."""
    shelf = Shelf(1_500)
    large = [Run(SCHEMA, [tuple(RawEvent((n,), None) for n in range(900))], 10)]
    sent = [run_of(1), run_of(2), large, run_of(3), run_of(4)]
    found = await outcomes(shelf, [(runs, None) for runs in sent])
    assert [type(each) for each in found] == [
        Receipt, Receipt, RecordTooLargeError, Receipt, Receipt,
    ]  # fmt: skip
    assert values_in(shelf) == [[1, 2], [3], [4]]
    assert [each.first for each in found if isinstance(each, Receipt)] == [1, 1, 2, 3]


async def test_what_is_durable_in_part_goes_on() -> None:
    """Behind its durable part, whoever else was at fault. By its own fault it is refused."""
    large = Run(OTHER, [(RawEvent((n,), None),) for n in range(TOGETHER_MAX_EVENTS)], 10)
    shelf = Shelf(1_000_000)
    found = await outcomes(shelf, [([large, *run_of(1)], None), (BAD, None)])
    assert isinstance(found[0], Receipt)
    assert (found[0].first, found[0].last) == (1, 2)
    assert isinstance(found[1], InvalidEventError)
    assert values_in(shelf) == [list(range(TOGETHER_MAX_EVENTS)), [1]]

    shelf = Shelf(1_000_000)
    found = await outcomes(shelf, [([large, *BAD], None), (run_of(1), None)])
    assert isinstance(found[0], InvalidEventError)
    assert isinstance(found[1], Receipt)
    assert values_in(shelf) == [list(range(TOGETHER_MAX_EVENTS)), [1]]


async def test_a_log_that_is_away_refuses_all_that_are_left() -> None:
    """It is nobody's fault, so nobody is tried by itself."""
    log = HeldLog()
    async with running(log) as intake:
        done = [intake.submit(run_of(n), None) for n in range(3)]
        await settle()
        await log.let("own0#0", error=UnavailableError("away"))
        assert [type(each.exception()) for each in done] == [UnavailableError] * 3
        assert log.begun == ["own0#0"]

        done = [intake.submit(run_of(n), None) for n in range(3)]
        await settle()
        await log.let("own1#0", error=InvalidEventError("one of them is wrong"))
        await log.let("own2#0")
        await log.let("own3#0", error=UnavailableError("away"))
        assert done[0].result().first == 1
        assert [type(each.exception()) for each in done[1:]] == [UnavailableError] * 2
        assert intake.is_idle
    assert log.begun == ["own0#0", "own1#0", "own2#0", "own3#0"]
