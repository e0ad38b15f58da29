"""Keeps the suite's processes running: whatever ends by itself is started again, ever more slowly
when it keeps ending."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from lockstep.clock import Clock
from lockstep.telemetry import Logger

WATCH_EVERY_MS: Final = 200
FIRST_PAUSE_MS: Final = 500
LONGEST_PAUSE_MS: Final = 30_000
WELL_AFTER_MS: Final = 60_000
"""Who ran for so long is started again at once the next time."""


class Watched(Protocol):
    """A process that can be started again."""

    node: str

    @property
    def has_ended(self) -> bool:
        """Nobody stopped it, and it is gone."""

    def start(self) -> None:
        """Again."""


@dataclass(slots=True)
class _Record:
    started_ms: int
    failures: int = 0
    due_ms: int | None = None


async def keep_running(processes: Collection[Watched], clock: Clock, log: Logger) -> None:
    """Until cancelled, also where its log lines cannot be written, as on a full disk."""
    records = {process.node: _Record(clock.monotonic_ms()) for process in processes}
    while True:
        await clock.sleep_ms(WATCH_EVERY_MS)
        for process in processes:
            if process.has_ended:
                _mind(process, records[process.node], clock.monotonic_ms(), log)


def _mind(process: Watched, record: _Record, now_ms: int, log: Logger) -> None:
    if record.due_ms is None:
        ran_ms = now_ms - record.started_ms
        record.failures = 0 if ran_ms >= WELL_AFTER_MS else record.failures + 1
        pause_ms = pause_after(record.failures)
        record.due_ms = now_ms + pause_ms
        with suppress(OSError):
            log.warning(
                "ended, starting it again", node=process.node, ran_ms=ran_ms, in_ms=pause_ms
            )
    if now_ms >= record.due_ms:
        record.started_ms, record.due_ms = now_ms, None
        try:
            process.start()
        except OSError as error:  # no memory or no room for a process just now
            with suppress(OSError):
                log.error("does not start", node=process.node, error=str(error))


def pause_after(failures: int) -> int:
    """Before the next start, after so many that did not last."""
    if failures == 0:
        return 0
    return min(FIRST_PAUSE_MS << min(failures - 1, 16), LONGEST_PAUSE_MS)
