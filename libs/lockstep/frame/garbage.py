"""Keeps Python's cycle collector away from what lives on.

A processor of a thousand apps holds some two million objects. A full collection goes through all of
them, and all else in the process waits: 0.7 to 1.2 s, as long as a lease lives. So what a full
collection leaves is set aside, and the next one looks at what is new. Cycles among what was set
aside are looked for now and then.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, Final

from lockstep.clock import Clock

OLDEST: Final = 2
"""The generation of a full collection."""
THOROUGH_EVERY_MS: Final = 600_000
"""At most so often a full collection goes through everything."""


class Garbage:
    """`begin` when all is loaded; one of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._thorough_ms = clock.monotonic_ms()

    def begin(self) -> None:
        """What is loaded stays, and is set aside first."""
        gc.freeze()
        gc.callbacks.append(self._told)

    def end(self) -> None:
        """The collector does as it does in any program."""
        gc.callbacks.remove(self._told)
        gc.unfreeze()

    def _told(self, phase: str, info: Mapping[str, Any]) -> None:
        """By the collector, in whatever thread it runs."""
        if info["generation"] != OLDEST:
            return
        if phase == "stop":
            gc.freeze()
        elif (now_ms := self._clock.monotonic_ms()) - self._thorough_ms >= THOROUGH_EVERY_MS:
            self._thorough_ms = now_ms
            gc.unfreeze()
