"""What the brokers do not let us write is told to who runs them. Each sender hears of it as of a
bus that is away, and no line of the log would say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.bus.errors import BusRightsError
from lockstep.events import LockstepError
from lockstep.telemetry import get_logger

TOLD_EVERY_S: Final = 60.0


class Refusals:
    """The first one is told at once, of all that follow one a minute."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._next_s = now_s()

    def note(self, error: LockstepError) -> None:
        """A message was not stored."""
        if isinstance(error, BusRightsError) and self._now_s() >= self._next_s:
            self._next_s = self._now_s() + TOLD_EVERY_S
            get_logger().error("the bus does not let us write", error=str(error))
