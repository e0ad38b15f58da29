"""Feeds on a virtual clock: pace, pause, resume, stop, and a receiver that is slower."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import LockstepError
from lockstep.simulating import (
    Bounds,
    DatabaseRows,
    Even,
    FeedSetup,
    Found,
    Pacing,
    Phase,
    Sent,
    Simulation,
    SimulationError,
    Timed,
    at_once,
    feed_of,
)
from lockstep.simulating.feeds import Event

COLUMNS = [("room", "string"), ("n", "int")]
BOUNDS = Bounds(max_feeds=4, max_rate_per_s=1_000_000, max_rows=100)
CSV = "at,room,n\n1000,a,1\n1400,b,2\n3000,c,3\n"


class BusyError(LockstepError):
    """As a receiver says it."""

    retryable = True

    def __init__(self, after_s: float | None) -> None:
        super().__init__("the app is behind")
        self.retry_after_s = after_s


class Door:
    """Takes batches and notes when; answers what it is told to."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.taken: list[tuple[int, str, Sequence[Event]]] = []
        self.keys: list[str] = []
        self.answers: list[Sent | LockstepError] = []
        self.holds = asyncio.Event()
        self.holds.set()

    async def send(self, stream: str, events: Sequence[Event], key: str) -> Sent:
        """One batch."""
        self.keys.append(key)
        await self.holds.wait()
        answer = self.answers.pop(0) if self.answers else Sent(len(events))
        if isinstance(answer, LockstepError):
            raise answer
        self.taken.append((self._clock.now_ms(), stream, events))
        return answer

    def times(self) -> list[int]:
        """When each event came."""
        return [at for at, _, events in self.taken for _ in events]

    def numbers(self) -> list[Any]:
        """The attribute n of each event."""
        return [one["n"] for _, _, events in self.taken for one in events]


async def nothing(_rows: DatabaseRows, _most: int) -> Found:
    """No database."""
    raise AssertionError


async def simulation(
    clock: VirtualClock, door: Door, *setups: FeedSetup, pacing: Pacing | None = None
) -> Simulation:
    """Of these feeds, not started."""
    randomness = SeededRandomness(5)
    feeds = [await feed_of(one, COLUMNS, randomness, nothing, BOUNDS) for one in setups]
    return Simulation(feeds, door.send, clock, "k", pacing or Pacing(tick_ms=1), at_once)


def counting(**more: Any) -> FeedSetup:
    """1, 2, 3 … into Reading."""
    return FeedSetup(stream="Reading", random={"room": "hall", "n": "1++"}, **more)


async def test_an_even_feed_keeps_its_rate_and_its_end() -> None:
    """Ten a second for two seconds are twenty events, each at its time."""
    clock = VirtualClock()
    door = Door(clock)
    run = await simulation(clock, door, counting(rate_per_s=10, for_ms=2_000))
    run.start()
    await clock.advance_ms(1_000)
    assert door.times() == [number * 100 for number in range(11)]
    await clock.advance_ms(5_000)
    assert door.numbers() == list(range(1, 21))
    (figures,) = run.figures()
    assert (figures.phase, figures.sent, figures.waiting, figures.total) == (
        Phase.DONE, 20, 0, 20,
    )  # fmt: skip
    await run.wait()
    assert run.is_over


async def test_a_pause_stands_still_and_a_resume_goes_on_where_it_stood() -> None:
    """No event is left out, none comes twice, and there is no burst after the pause."""
    clock = VirtualClock()
    door = Door(clock)
    run = await simulation(clock, door, counting(rate_per_s=10))
    run.start()
    await clock.advance_ms(250)
    await run.pause()
    before = run.figures()
    await clock.advance_ms(60_000)
    assert run.figures() == before
    assert before[0].sent == 3
    run.start()
    await clock.advance_ms(250)
    assert door.times() == [0, 100, 200, 60_300, 60_400, 60_500]
    assert door.numbers() == [1, 2, 3, 4, 5, 6]
    await run.stop()
    await clock.advance_ms(1_000)
    assert len(door.numbers()) == 6
    assert run.figures()[0].phase is Phase.STOPPED


async def test_a_pause_waits_for_what_is_under_way() -> None:
    """So that the figures of a paused feed are the last word."""
    clock = VirtualClock()
    door = Door(clock)
    run = await simulation(clock, door, counting(rate_per_s=10))
    door.holds.clear()
    run.start()
    await clock.advance_ms(50)
    pausing = asyncio.ensure_future(run.pause())
    await clock.advance_ms(1_000)
    assert not pausing.done()
    door.holds.set()
    await pausing
    await clock.advance_ms(1_000)
    assert [one.sent for one in run.figures()] == [1]
    await run.stop_now()


async def test_a_receiver_that_pushes_back_slows_the_feed_down() -> None:
    """The batch comes again under its key when it was asked for; the schedule has waited."""
    clock = VirtualClock()
    door = Door(clock)
    door.answers = [Sent(1), BusyError(3.0), BusyError(None)]
    run = await simulation(clock, door, counting(rate_per_s=10))
    run.start()
    await clock.advance_ms(1_000)
    (held,) = run.figures()
    assert (held.sent, held.waiting, held.held_up, held.trouble) == (1, 1, 1, "the app is behind")
    await clock.advance_ms(2_100)
    assert run.figures()[0].held_up == 2
    await clock.advance_ms(400)
    await clock.advance_ms(200)
    assert door.times() == [0, 3_500, 3_600, 3_700]
    assert door.keys[1] == door.keys[2] == door.keys[3]
    assert door.numbers() == [1, 2, 3, 4]
    assert run.figures()[0].trouble == ""
    await run.stop_now()


async def test_a_feed_faster_than_its_door_moves_its_schedule() -> None:
    """At most a batch waits, and nothing is left out."""
    clock = VirtualClock()
    door = Door(clock)
    pacing = Pacing(batch_events=50, tick_ms=100)
    run = await simulation(clock, door, counting(rate_per_s=10_000), pacing=pacing)
    run.start()
    await clock.advance_ms(1_000)
    sizes = [len(events) for _, _, events in door.taken]
    assert max(sizes) == 50
    assert door.numbers() == list(range(1, sum(sizes) + 1))
    await run.stop_now()


@pytest.mark.parametrize("rate", [20_000, 200_000, 400_000])
async def test_a_feed_whose_door_keeps_up_is_as_fast_as_it_was_asked_to_be(rate: int) -> None:
    """Also where more than a batch is due at a time."""
    clock = VirtualClock()
    door = Door(clock)
    run = await simulation(
        clock, door, counting(rate_per_s=rate, for_ms=200), pacing=Pacing(tick_ms=50)
    )
    run.start()
    await clock.advance_ms(300)
    (figures,) = run.figures()
    assert (figures.phase, figures.sent, figures.held_up) == (Phase.DONE, rate // 5, 0)
    assert door.numbers() == list(range(1, rate // 5 + 1))
    assert max(len(events) for _, _, events in door.taken) == 1_000


async def test_what_a_slow_door_did_not_take_comes_in_no_burst_behind_it() -> None:
    """A batch, and what is due within a tick, is all that is made up."""
    clock = VirtualClock()
    door = Door(clock)
    run = await simulation(clock, door, counting(rate_per_s=10_000), pacing=Pacing(tick_ms=50))
    door.holds.clear()
    run.start()
    await clock.advance_ms(10_000)
    door.holds.set()
    await clock.advance_ms(20)
    assert 1_000 < len(door.numbers()) < 2_000
    await run.stop_now()


class LargeError(LockstepError):
    """As a receiver says it of a body."""

    status = 413


class Narrow(Door):
    """Takes bodies of so many bytes."""

    def __init__(self, clock: VirtualClock, most_bytes: int) -> None:
        super().__init__(clock)
        self._most_bytes = most_bytes

    async def send(self, stream: str, events: Sequence[Event], key: str) -> Sent:
        """One batch, or an error."""
        if len(json.dumps(events)) > self._most_bytes:
            self.keys.append(key)
            raise LargeError("the body is too large")
        return await super().send(stream, events, key)


async def test_large_rows_of_one_time_go_in_batches_of_about_a_megabyte() -> None:
    """As a receiver takes them, in their order."""
    clock = VirtualClock()
    door = Narrow(clock, 1_100_000)
    rows = "".join(f"1000,{'x' * 90_000},{number}\n" for number in range(60))
    large = FeedSetup(stream="Reading", csv=f"at,room,n\n{rows}", time_column="at", speed=1.0)
    run = await simulation(clock, door, large)
    run.start()
    await clock.advance_ms(100)
    assert run.figures()[0].phase is Phase.DONE
    assert [len(events) for _, _, events in door.taken] == [12] * 5
    assert door.numbers() == list(range(60))


async def test_a_batch_that_is_too_large_goes_in_halves_under_keys_of_their_own() -> None:
    """In their order. An event that is too large by itself is refused alone, with what was said."""
    clock = VirtualClock()
    door = Narrow(clock, 250)
    rows = "".join(f"1000,{'x' * (300 if number == 6 else 60)},{number}\n" for number in range(9))
    large = FeedSetup(stream="Reading", csv=f"at,room,n\n{rows}", time_column="at", speed=1.0)
    run = await simulation(clock, door, large)
    door.answers = [Sent(2), BusyError(1.0)]
    run.start()
    await clock.advance_ms(500)
    (held,) = run.figures()
    assert (held.sent, held.waiting, held.held_up) == (2, 7, 1)
    await clock.advance_ms(2_000)
    (figures,) = run.figures()
    assert (figures.phase, figures.sent, figures.refused) == (Phase.DONE, 8, 1)
    assert figures.reason == "the body is too large"
    assert door.numbers() == [0, 1, 2, 3, 4, 5, 7, 8]
    retried = [key for key in set(door.keys) if door.keys.count(key) > 1]
    assert retried == ["k-0-2-2"]


async def test_an_event_that_is_too_large_stops_nothing_behind_it() -> None:
    """Also where the receiver was busy before it said so."""
    clock = VirtualClock()
    door = Door(clock)
    door.answers = [BusyError(1.0), LargeError("the body is too large")]
    run = await simulation(clock, door, counting(rate_per_s=10, limit_events=3))
    run.start()
    await clock.advance_ms(5_000)
    (figures,) = run.figures()
    assert (figures.phase, figures.sent, figures.refused) == (Phase.DONE, 2, 1)
    assert door.times() == [1_100, 1_200]


async def test_drawn_texts_close_a_batch_and_the_loop_goes_on_meanwhile() -> None:
    """They are drawn on another thread; a pause waits for what is being drawn."""
    clock = VirtualClock()
    door = Door(clock)
    is_drawn, goes_on = asyncio.Event(), asyncio.Event()
    taken: list[bool] = []

    async def aside(work: Callable[[], Any], /) -> Any:
        found = await asyncio.to_thread(lambda: (threading.current_thread(), work()))
        taken.append(found[0] is not threading.main_thread())
        is_drawn.set()
        await goes_on.wait()
        return found[1]

    setup = FeedSetup(
        stream="Reading", random={"room": "/[a-z]{4000}/", "n": "1++"}, rate_per_s=10_000,
        limit_events=100,
    )  # fmt: skip
    feed = await feed_of(setup, COLUMNS, SeededRandomness(5), nothing, BOUNDS)
    run = Simulation([feed], door.send, clock, "k", Pacing(tick_ms=1), aside)
    run.start()
    await asyncio.wait_for(is_drawn.wait(), 10)
    pausing = asyncio.ensure_future(run.pause())
    await clock.advance_ms(1_000)
    assert not pausing.done()
    goes_on.set()
    await pausing
    before = run.figures()
    await clock.advance_ms(1_000)
    assert run.figures() == before
    run.start()

    async def over() -> None:
        while not run.is_over:
            await clock.advance_ms(5)
            await asyncio.sleep(0.001)

    await asyncio.wait_for(over(), 30)
    assert all(taken)
    assert door.numbers() == list(range(1, 101))
    assert max(len(events) for _, _, events in door.taken) == 17


async def test_many_rows_are_read_while_the_loop_goes_on() -> None:
    """On a thread where nothing else is said."""
    threads: set[bool] = set()

    class Watched(str):
        def removeprefix(self, prefix: str, /) -> str:
            threads.add(threading.current_thread() is threading.main_thread())
            return super().removeprefix(prefix)

    setup = FeedSetup(stream="Reading", csv=Watched("a,1\n"))
    await feed_of(setup, COLUMNS, SeededRandomness(1), nothing, BOUNDS)
    assert threads == {False}


async def test_refused_events_are_counted_with_the_last_reason() -> None:
    """A request that is refused as a whole, for good, ends the feed with what was said."""
    clock = VirtualClock()
    door = Door(clock)
    door.answers = [Sent(0, 1, "n: too large"), Sent(1), LockstepError("no such stream")]
    run = await simulation(clock, door, counting(rate_per_s=10))
    run.start()
    await clock.advance_ms(1_000)
    (figures,) = run.figures()
    assert (figures.sent, figures.refused, figures.reason) == (1, 1, "n: too large")
    assert (figures.phase, figures.trouble) == (Phase.FAILED, "no such stream")


async def test_rows_with_times_come_as_fast_as_they_happened() -> None:
    """Twice as fast, twice over, with their times where those are kept."""
    clock = VirtualClock()
    door = Door(clock)
    timed = FeedSetup(
        stream="Reading", csv=CSV, time_column="at", speed=2.0, repeat=2, keep_times=True
    )
    run = await simulation(clock, door, timed)
    run.start()
    await clock.advance_ms(10_000)
    assert door.times() == [0, 200, 1_000, 1_500, 1_700, 2_500]
    assert door.numbers() == [1, 2, 3, 1, 2, 3]
    assert [one["_timestamp"] for _, _, events in door.taken for one in events][:3] == [
        1_000, 1_400, 3_000,
    ]  # fmt: skip


async def test_several_streams_have_a_feed_each() -> None:
    """They run side by side, and each can end by itself."""
    clock = VirtualClock()
    door = Door(clock)
    other = FeedSetup(stream="Door", csv="a,1\nb,2\n", rate_per_s=2, repeat=0, limit_events=5)
    run = await simulation(clock, door, counting(rate_per_s=4, limit_events=3), other)
    run.start()
    await clock.advance_ms(10_000)
    assert [(one.stream, one.sent) for one in run.figures()] == [("Reading", 3), ("Door", 5)]
    assert [at for at, stream, _ in door.taken if stream == "Door"] == [0, 500, 1000, 1500, 2000]
    assert run.is_over


async def test_rows_of_a_database_are_fitted_by_name() -> None:
    """What is missing is told with what is there."""

    async def fetch(_rows: DatabaseRows, most: int) -> Found:
        rows: list[list[Any]] = [[1.0, "a", None], ["2", None, 1]]
        return Found(("N", "Room", "more"), rows[:most])

    rows = FeedSetup(stream="Reading", database=DatabaseRows(datasource="shop", table="t"))
    feed = await feed_of(rows, COLUMNS, SeededRandomness(1), fetch, BOUNDS)
    assert [feed.source.event(at) for at in range(3)] == [
        {"room": "a", "n": 1}, {"room": None, "n": 2}, {"room": "a", "n": 1},
    ]  # fmt: skip
    with pytest.raises(SimulationError, match=r"Reading: the rows have no column celsius"):
        await feed_of(rows, [("celsius", "double")], SeededRandomness(1), fetch, BOUNDS)


@pytest.mark.parametrize(
    "schedule", [Even(3.7), Even(0.3), Even(12_345.6), Timed([5, 5, 9, 70], 3)]
)
def test_a_schedule_says_the_same_forwards_and_backwards(schedule: Even | Timed) -> None:
    """When an event is due, and how many are due by then."""
    for number in range(400):
        due = schedule.due_ms(number)
        assert schedule.due_by(due) > number
        assert schedule.due_by(due - 1) <= number


def test_a_duration_is_a_number_of_events() -> None:
    """Also where several are due within a millisecond, and where rows begin anew."""
    assert [Even(2_000).due_before(end) for end in (1, 100, 60_000)] == [2, 200, 120_000]
    assert [Even(0.5).due_before(end) for end in (1, 2_000, 2_001)] == [1, 1, 2]
    assert [Even(100).due_before(60_000), Even(3.3).due_before(10_000)] == [6_000, 33]
    rows = Timed([1_000, 1_400, 3_000], 2)
    assert [rows.due_before(end) for end in (1, 200, 201, 1_001, 1_501)] == [1, 1, 2, 3, 4]
