"""How the looks at the logs' ends are spread, so that a thousand replicas that wait for a leader
leave the bus and the core to what they wait for. Pure."""

from __future__ import annotations

from typing import Final

APART_MS: Final = 10
"""A look is two small requests: a hundred a second are some tenth of a core."""


class LookPace:
    """Of a process. Turns in the order in which they were asked for: few replicas look when they
    want to, and of `n` each looks every `n * APART_MS` at most."""

    def __init__(self) -> None:
        self._next_ms = 0

    def wait_ms(self, now_ms: int) -> int:
        """A turn: how long until it comes."""
        turn_ms = max(now_ms, self._next_ms)
        self._next_ms = turn_ms + APART_MS
        return turn_ms - now_ms
