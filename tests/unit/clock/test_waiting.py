"""Work that is waited for until something else ends."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.clock import VirtualClock, done_before


async def test_whether_work_is_done_before_the_end() -> None:
    """What is late runs no further."""
    clock = VirtualClock()
    for late, work_ms, end_ms in ((False, 5, 10), (True, 10, 5)):
        done: list[bool] = []

        async def work(work_ms: int = work_ms, done: list[bool] = done) -> None:
            await clock.sleep_ms(work_ms)
            done.append(True)

        waiting = asyncio.ensure_future(done_before(work(), clock.sleep_ms(end_ms)))
        await clock.advance_ms(20)
        assert await waiting is not late
        await clock.advance_ms(20)
        assert bool(done) is not late


async def test_what_the_work_raises_comes_out() -> None:
    """Whoever waits learns why it ended."""

    async def work() -> None:
        raise LookupError("not there")

    with pytest.raises(LookupError, match="not there"):
        await done_before(work(), asyncio.Event().wait())
