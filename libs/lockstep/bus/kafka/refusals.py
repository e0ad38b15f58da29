"""What the brokers do not let us write is told to who runs them. Each sender hears of it as of a
bus that is away, and no line of the log would say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.bus.errors import BusRightsError
from lockstep.events import LockstepError
from lockstep.telemetry import Seldom, get_logger

_WHAT: Final = "the bus does not let us write"


class Refusals:
    """The first one is told at once, of all that follow one a minute."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._seldom = Seldom()

    def note(self, error: LockstepError) -> None:
        """A message was not stored."""
        now_ms = round(1000 * self._now_s())
        if isinstance(error, BusRightsError) and self._seldom.is_due(_WHAT, now_ms):
            get_logger().error(_WHAT, error=str(error))
