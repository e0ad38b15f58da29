"""Waiting on the service's own clock, so that a virtual one drives it too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

T = TypeVar("T")

SERVER_LIMIT_MS: Final = 60_000
PAUSE_MS: Final = 500


async def once_there(what: str, work: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """The result of `work`, which is tried again while the server that it needs is away.

    Raises UnavailableError when the server is still away after SERVER_LIMIT_MS, or refuses us.
    """
    deadline_ms = clock.monotonic_ms() + SERVER_LIMIT_MS
    while True:
        try:
            return await work()
        except UnavailableError as error:
            if not error.retryable or clock.monotonic_ms() >= deadline_ms:
                raise
            get_logger().warning("waiting for a server", server=what, error=str(error))
            await clock.sleep_ms(PAUSE_MS)
