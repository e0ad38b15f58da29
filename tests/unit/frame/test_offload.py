"""Blocking work on shared threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from lockstep.frame import InlineOffload, Offload, SharedThreads, ThreadOffload


def test_calls_of_one_offload_never_overlap() -> None:
    """They run in the order in which they were asked for, though there are threads for all."""

    async def scenario() -> list[int]:
        offload = SharedThreads(4).offload("one")
        done: list[int] = []

        def work(number: int) -> Callable[[], None]:
            return lambda: done.append(number)

        await asyncio.gather(*(offload.run(work(number)) for number in range(20)))
        return done

    assert asyncio.run(scenario()) == list(range(20))


def test_offloads_run_side_by_side() -> None:
    """One waits for what the other does."""

    async def scenario() -> bool:
        threads = SharedThreads(2)
        told = threading.Event()
        waiting = asyncio.create_task(threads.offload("a").run(lambda: told.wait(30)))
        await threads.offload("b").run(told.set)
        return await waiting

    assert asyncio.run(scenario())


def test_the_next_call_waits_for_one_whose_caller_was_cancelled() -> None:
    """What runs on a thread goes on, and nothing else of its offload beside it."""

    async def scenario() -> list[str]:
        offload = SharedThreads(2).offload("one")
        begun, may_end, done = threading.Event(), threading.Event(), list[str]()

        def slow() -> None:
            begun.set()
            may_end.wait(30)
            done.append("slow")

        first = asyncio.create_task(offload.run(slow))
        while not begun.is_set():
            await asyncio.sleep(0)
        first.cancel()
        second = asyncio.create_task(offload.run(lambda: done.append("next")))
        with pytest.raises(asyncio.CancelledError):
            await first
        may_end.set()
        await second
        return done

    assert asyncio.run(scenario()) == ["slow", "next"]


@pytest.mark.parametrize(
    "made",
    [lambda: ThreadOffload("one"), lambda: SharedThreads(1).offload("one"), InlineOffload],
)
def test_work_that_raises_stop_iteration_has_an_answer(made: Callable[[], Offload]) -> None:
    """A future refuses that error, so it comes as the cause of another one."""

    async def scenario() -> int:
        offload = made()
        with pytest.raises(RuntimeError, match="raised StopIteration") as raised:
            await asyncio.wait_for(offload.run(lambda: next(iter(()))), 30)
        assert isinstance(raised.value.__cause__, StopIteration)
        found = await offload.run(lambda: 1)
        offload.close()
        return found

    assert asyncio.run(scenario()) == 1


def test_a_closed_offload_refuses() -> None:
    """Others of the same threads go on."""

    async def scenario() -> int:
        threads = SharedThreads(1)
        closed = threads.offload("closed")
        closed.close()
        with pytest.raises(RuntimeError):
            await closed.run(lambda: 1)
        return await threads.offload("open").run(lambda: 2)

    assert asyncio.run(scenario()) == 2
