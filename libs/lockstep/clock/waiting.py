"""Waiting on a clock that was handed in, so that a virtual one drives it too."""

from __future__ import annotations

import asyncio
import contextlib

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
    waiting = asyncio.ensure_future(event.wait())
    sleeping = asyncio.ensure_future(clock.sleep_ms(limit_ms))
    try:
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        return event.is_set()
    finally:
        waiting.cancel()
        sleeping.cancel()
