"""Waiting on a clock that was handed in, so that a virtual one drives it too."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

from lockstep.clock.contract import Clock
from lockstep.clock.system import SystemClock


async def wait_set(event: asyncio.Event, clock: Clock, limit_ms: int) -> bool:
    """True when the event was set within `limit_ms`; does not clear it."""
    if event.is_set():
        return True
    if isinstance(clock, SystemClock):
        # The loop's own timer: the two tasks below would cost ten times as much.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_ms / 1000):
                await event.wait()
        return event.is_set()
    await done_before(event.wait(), clock.sleep_ms(limit_ms))
    return event.is_set()


def is_asked_to_end() -> bool:
    """Of a task that gets a CancelledError: whether it is meant, and not what it waits for."""
    own = asyncio.current_task()
    return own is None or own.cancelling() > 0


async def done_before(work: Awaitable[Any], end: Awaitable[Any]) -> bool:
    """Whether the work is done when one of the two is; neither runs on. Raises what it raised."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(end)
    try:
        await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return False
        working.result()
        return True
    finally:
        working.cancel()
        ending.cancel()
