"""The machine's own time and randomness."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
import uuid

_NANOSECONDS_PER_MS = 1_000_000


class SystemClock:
    """Reads the operating system's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // _NANOSECONDS_PER_MS

    def monotonic_ms(self) -> int:
        """Milliseconds since the machine started, roughly."""
        return time.monotonic_ns() // _NANOSECONDS_PER_MS

    async def sleep_ms(self, duration_ms: int) -> None:
        """Suspends the calling task for at least `duration_ms`."""
        await asyncio.sleep(max(0, duration_ms) / 1000)


def stopwatch_ns() -> int:
    """Nanoseconds since some fixed moment, to measure short work for people: nothing that an app
    answers may hang on it."""
    return time.perf_counter_ns()


class SystemRandomness:
    """Unpredictable."""

    def uuid_hex(self) -> str:
        return uuid.uuid4().hex

    def fraction(self) -> float:
        return random.random()

    def secret(self) -> str:
        """43 URL-safe characters from the operating system's entropy."""
        return secrets.token_urlsafe(32)
