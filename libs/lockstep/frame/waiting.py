"""Waiting on the service's own clock, so that a virtual one drives it too."""

from __future__ import annotations

import asyncio

from lockstep.clock import Clock


async def wait_set(event: asyncio.Event, clock: Clock, limit_ms: int) -> bool:
    """True when the event was set within `limit_ms`; does not clear it."""
    if event.is_set():
        return True
    waiting = asyncio.ensure_future(event.wait())
    sleeping = asyncio.ensure_future(clock.sleep_ms(limit_ms))
    try:
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        return event.is_set()
    finally:
        waiting.cancel()
        sleeping.cancel()
