"""When a source that asks by itself asks next."""

from __future__ import annotations

from lockstep.clock import Clock


class Turns:
    """Every `interval_ms`, the first one at once."""

    def __init__(self, clock: Clock, interval_ms: int) -> None:
        self._clock = clock
        self._interval_ms = interval_ms
        self._next_ms = 0

    async def is_due(self, wait_ms: int) -> bool:
        """Waits so long at most; where it is due, the next turn is an interval from now."""
        rest_ms = self._next_ms - self._clock.monotonic_ms()
        if rest_ms > 0:
            await self._clock.sleep_ms(min(rest_ms, wait_ms))
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._interval_ms
        return True
