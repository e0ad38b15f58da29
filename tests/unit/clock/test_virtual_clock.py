"""The virtual clock: it moves when told to, and sleepers see their own deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from lockstep.clock import Clock, VirtualClock


async def _note(
    clock: VirtualClock, duration_ms: int, seen: list[tuple[str, int]], who: str
) -> None:
    await clock.sleep_ms(duration_ms)
    seen.append((who, clock.now_ms()))


def test_is_a_clock() -> None:
    """It can stand wherever a clock is asked for."""
    assert isinstance(VirtualClock(), Clock)


def test_readings_start_where_told() -> None:
    """The time of day starts at the given moment, the monotonic reading at zero."""
    clock = VirtualClock(start_ms=1_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_000, 0)


async def test_sleepers_wake_in_order_at_their_deadlines() -> None:
    """One step over several deadlines stops at each of them."""
    clock = VirtualClock()
    seen: list[tuple[str, int]] = []
    tasks = [
        asyncio.create_task(_note(clock, ms, seen, who))
        for who, ms in (("late", 30), ("first", 10), ("second", 10))
    ]
    await clock.advance_ms(25)
    assert seen == [("first", 10), ("second", 10)]
    assert clock.next_deadline_ms() == 30
    await clock.advance_ms(5)
    await asyncio.gather(*tasks)
    assert seen[-1] == ("late", 30)


async def test_a_woken_task_may_sleep_again_within_the_step() -> None:
    """A loop of sleeps runs as often as it fits into the step."""
    clock = VirtualClock()
    beats: list[int] = []

    async def heart() -> None:
        while True:
            await clock.sleep_ms(10)
            beats.append(clock.now_ms())

    task = asyncio.create_task(heart())
    await clock.advance_ms(35)
    task.cancel()
    assert beats == [10, 20, 30]
    assert clock.now_ms() == 35


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    """Cancelling leaves no deadline behind."""
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep_ms(10))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert clock.next_deadline_ms() is None


async def test_zero_sleep_does_not_wait() -> None:
    """A sleep of nothing needs no step."""
    clock = VirtualClock()
    await clock.sleep_ms(0)
    assert clock.monotonic_ms() == 0


async def test_setting_wakes_whoever_is_due() -> None:
    """The synchronous step wakes sleepers when their loop runs next."""
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep_ms(10))
    await asyncio.sleep(0)
    clock.set_ms(10)
    await task
    assert clock.now_ms() == 10


async def test_never_runs_back() -> None:
    """Moving backwards is refused both ways."""
    clock = VirtualClock(start_ms=5)
    with pytest.raises(ValueError, match="run back"):
        clock.set_ms(4)
    with pytest.raises(ValueError, match="run back"):
        await clock.advance_ms(-1)


async def _chain_of_wakes() -> None:
    """Each of fifty tasks wakes the next one, all within the first moment."""
    clock = VirtualClock()
    loop = asyncio.get_running_loop()
    links: list[asyncio.Future[None]] = [loop.create_future() for _ in range(51)]
    seen: list[int] = []

    async def link(place: int) -> None:
        await links[place]
        links[place + 1].set_result(None)

    async def ends() -> None:
        await links[-1]
        seen.append(clock.monotonic_ms())

    async def begins() -> None:
        await clock.sleep_ms(10)
        links[0].set_result(None)

    tasks = [asyncio.create_task(link(place)) for place in range(50)]
    tasks += [asyncio.create_task(ends()), asyncio.create_task(begins())]
    await clock.advance_ms(20)
    assert seen == [10]
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("make", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_chain_of_wakes_is_over_before_the_clock_moves_on(
    make: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """Also on a loop that does not show who waits for a turn."""
    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(_chain_of_wakes())
