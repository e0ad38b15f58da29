"""How messages that are sent at most once are told to be lost: not with a line for each of them."""

from __future__ import annotations

from typing import Final

from lockstep.clock import Clock
from lockstep.telemetry import get_logger

TOLD_EACH_MS: Final = 10_000


class Losses:
    """The first loss is told at once. Those behind it are counted, and told together with the first
    message after `TOLD_EACH_MS`, whether that one gets through or not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._log = get_logger()
        self._untold = 0
        self._latest = ("", "")
        self._next_ms = self._clock.monotonic_ms()

    def lost(self, subject: str, why: str) -> None:
        """A message of this subject is."""
        self._untold += 1
        self._latest = (subject, why)
        self._tell()

    def passed(self) -> None:
        """A message got through."""
        if self._untold:
            self._tell()

    def _tell(self) -> None:
        if self._clock.monotonic_ms() < self._next_ms:
            return
        subject, why = self._latest
        self._log.warning("messages were lost", count=self._untold, subject=subject, error=why)
        self._untold = 0
        self._next_ms = self._clock.monotonic_ms() + TOLD_EACH_MS
