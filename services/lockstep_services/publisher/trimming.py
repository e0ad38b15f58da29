"""When an output log forgets: whatever its sinks are, also if it has none, or it would fill up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from lockstep.bus import Bus, Held, LogName
from lockstep.clock import Clock, wait_set
from lockstep.settings import Settings

SHARE_OF_LOG: Final = 4
"""Pages look back on no more than this part of what a log may hold; the rest is room for sinks."""
QUIET_INTERVALS: Final = 24
"""A log that has not moved is looked at so much more seldom, unless a sink lags behind it."""


def trim_to(
    end: int, held: Held, delivered: Iterable[int], *, keep_records: int, keep_bytes: int
) -> int:
    """The last sequence to forget: what every sink has and pages no longer look back on.

    `end`: the log's last sequence; `delivered`: how far each sink has come.
    """
    keep = keep_records
    if held.size_bytes > keep_bytes:
        keep = min(keep, held.records * keep_bytes // held.size_bytes)
    return min([end - keep, *delivered])


def kept_bytes(settings: Settings) -> int:
    """How much of a log pages may look back on."""
    return min(settings.publisher.keep_bytes, settings.bus.max_log_bytes // SHARE_OF_LOG)


class Pauses:
    """Between two looks at a log."""

    def __init__(self, clock: Clock, interval_ms: int) -> None:
        self._clock = clock
        self._interval_ms = interval_ms
        self._is_needed = asyncio.Event()

    def need(self) -> None:
        """Somebody wants to know where the log ends: the next pause is a short one. Who goes on
        wanting it says so again within that."""
        self._is_needed.set()

    async def pause(self, *, is_quiet: bool) -> None:
        """An interval; many of them where the log has not moved and nobody needs to know."""
        if is_quiet and not self._is_needed.is_set():
            await wait_set(self._is_needed, self._clock, self._interval_ms * QUIET_INTERVALS)
        else:
            self._is_needed.clear()
            await self._clock.sleep_ms(self._interval_ms)


class Trimmer:
    """Trims one app's output log. `run` in one supervised task.

    `delivered`: how far each sink has come, or None while that is not known or not to be asked.
    """

    def __init__(
        self,
        log: LogName,
        bus: Bus,
        clock: Clock,
        settings: Settings,
        delivered: Callable[[], Iterable[int] | None],
    ) -> None:
        self._log = log
        self._bus = bus
        self.pauses = Pauses(clock, settings.publisher.trim_interval_ms)
        self._keep_records = settings.publisher.keep_records
        self._keep_bytes = kept_bytes(settings)
        self._delivered = delivered
        self.log_end = 0

    async def run(self) -> None:
        """Until cancelled; UnavailableError when the bus is away, or the log is gone."""
        log = await self._bus.output_log(self._log, make=False)
        trimmed = 0
        is_quiet = False
        while True:
            await self.pauses.pause(is_quiet=is_quiet)
            before, self.log_end = self.log_end, (await log.tail()).sequence
            is_quiet = self.log_end == before
            delivered = self._delivered()
            if delivered is None:
                continue
            up_to = trim_to(
                self.log_end,
                await log.held(),
                delivered,
                keep_records=self._keep_records,
                keep_bytes=self._keep_bytes,
            )
            if up_to > 0 and up_to != trimmed:
                await log.trim(up_to)
                trimmed = up_to
