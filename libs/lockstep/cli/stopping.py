"""Work that a signal ends in good order, whatever it is at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from lockstep.frame.lifecycle import STOP_SIGNALS


async def until_signalled(work: Coroutine[Any, Any, None], told: Callable[[], object]) -> None:
    """Until the work ends or somebody asks for its end by a signal.

    The first signal cancels it, also while it starts something, and `told` says so. Those that
    follow do not disturb its cleaning up.
    """
    task = asyncio.ensure_future(work)
    is_asked = False

    def asked() -> None:
        nonlocal is_asked
        if not is_asked:
            is_asked = True
            task.cancel()
            # It may print, where nobody reads or there is no room: of a broken pipe Rich makes
            # a SystemExit, which would disturb the cleaning up.
            with suppress(OSError, ValueError, SystemExit):
                told()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, asked)
    try:
        await asyncio.wait([task])
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
    if not task.cancelled():
        task.result()
