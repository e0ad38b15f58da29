"""When an output log forgets: whatever its sinks are, also if it has none, or it would fill up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lockstep.bus import Bus, Held, LogName
from lockstep.clock import Clock
from lockstep.settings import Settings

SHARE_OF_LOG: Final = 4
"""Pages look back on no more than this part of what a log may hold; the rest is room for sinks."""
QUIET_INTERVALS: Final = 24
"""A log that has not moved is looked at so much more seldom."""


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
        self._clock = clock
        self._interval_ms = settings.publisher.trim_interval_ms
        self._keep_records = settings.publisher.keep_records
        self._keep_bytes = kept_bytes(settings)
        self._delivered = delivered
        self.log_end = 0

    async def run(self) -> None:
        """Until cancelled; UnavailableError when the bus is away, or the log is gone."""
        log = await self._bus.output_log(self._log, make=False)
        trimmed = 0
        pause_ms = self._interval_ms
        while True:
            await self._clock.sleep_ms(pause_ms)
            before, self.log_end = self.log_end, (await log.tail()).sequence
            pause_ms = self._interval_ms * (QUIET_INTERVALS if self.log_end == before else 1)
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
