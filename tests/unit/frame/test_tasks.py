"""Supervised tasks: started again after a pause, stopped for good when asked."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from structlog.testing import capture_logs

from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import Tasks, run_side_by_side, wait_set
from lockstep.frame import tasks as frame_tasks
from lockstep.telemetry import get_logger


async def test_a_failing_task_starts_again_with_growing_pauses() -> None:
    """100 ms, 200 ms, 400 ms …, and no more once it returns."""
    clock = VirtualClock()
    tasks = Tasks(clock, get_logger())
    started: list[int] = []

    async def work() -> None:
        started.append(clock.monotonic_ms())
        if len(started) < 4:
            raise UnavailableError("away")

    tasks.supervise("work", work)
    await clock.advance_ms(1_000)
    assert started == [0, 100, 300, 700]
    assert tasks.names == frozenset()


async def test_a_bug_is_survived_like_a_server_that_is_away() -> None:
    """The service goes on; the log has the details."""
    clock = VirtualClock()
    tasks = Tasks(clock, get_logger())
    runs = 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        raise RuntimeError("a bug")

    with capture_logs() as told:
        tasks.supervise("work", work, app="A", partition="2")
        await clock.advance_ms(300)
    assert runs == 3
    lines = {(line["task"], line["app"], line["partition"], line["error"]) for line in told}
    assert lines == {("work", "A", "2", "a bug")}
    await tasks.stop_all()
    await clock.advance_ms(10_000)
    assert runs == 3


async def test_what_was_called_off_elsewhere_does_not_end_a_task() -> None:
    """What it waited for was cancelled, and nobody has cancelled it: that is told, and it begins
    again."""
    clock = VirtualClock()
    tasks = Tasks(clock, get_logger())
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            elsewhere: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            elsewhere.cancel()
            await elsewhere

    with capture_logs() as logs:
        tasks.supervise("pump", work)
        await clock.advance_ms(10_000)
    assert tries == 2
    assert [each["error"] for each in logs] == ["what it waited for was called off"]


async def test_stopping_outlasts_a_lost_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that takes a cancellation for itself is cancelled again."""
    monkeypatch.setattr(frame_tasks, "CANCEL_AGAIN_S", 0.01)
    tasks = Tasks(VirtualClock(), get_logger())
    lost = 0

    async def work() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost += 1
                if lost > 2:
                    raise

    tasks.supervise("work", work)
    await asyncio.sleep(0)
    await tasks.stop("work")
    assert lost == 3


async def test_a_task_that_ends_in_good_order_is_cancelled_once() -> None:
    """Also when its neighbours have ended: what it still asks a server for, it hears."""
    tasks = Tasks(VirtualClock(), get_logger())
    answered, ended = asyncio.Event(), []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            if name != "quick":
                await answered.wait()
            ended.append(name)

    for name in ("quick", "slow", "slow too"):
        tasks.supervise(name, partial(work, name))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(tasks.stop_all())
    for _ in range(10):
        await asyncio.sleep(0)
    answered.set()
    await stopping
    assert sorted(ended) == ["quick", "slow", "slow too"]


async def test_names_are_unique_while_running() -> None:
    """Two tasks of one name would hide each other."""
    tasks = Tasks(VirtualClock(), get_logger())

    async def work() -> None:
        await asyncio.Event().wait()

    tasks.supervise("work", work)
    with pytest.raises(ValueError, match="running"):
        tasks.supervise("work", work)
    await tasks.stop_all()


async def test_a_name_is_free_as_soon_as_its_task_has_ended() -> None:
    """Whoever is woken by its end may start the next one."""
    tasks = Tasks(VirtualClock(), get_logger())
    runs: list[str] = []

    async def work() -> None:
        runs.append("run")

    for _ in range(3):
        tasks.supervise("work", work)
        await asyncio.sleep(0)
    assert runs == ["run"] * 3
    await tasks.stop_all()
    assert tasks.names == frozenset()


async def test_side_by_side_ends_with_the_first_failure() -> None:
    """The others are gone when it comes out."""
    ended = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def fails() -> None:
        raise UnavailableError("first")

    with pytest.raises(UnavailableError, match="first"):
        await run_side_by_side(waits, fails)
    assert ended == ["waits"]


async def test_waiting_ends_by_event_or_by_the_clock() -> None:
    """On the virtual clock, without real time."""
    clock, event = VirtualClock(), asyncio.Event()
    waiting = asyncio.ensure_future(wait_set(event, clock, 100))
    await clock.advance_ms(99)
    assert not waiting.done()
    await clock.advance_ms(1)
    assert await waiting is False
    waiting = asyncio.ensure_future(wait_set(event, clock, 100))
    await clock.advance_ms(1)
    event.set()
    assert await waiting is True
