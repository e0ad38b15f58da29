"""How far an event stream has been taken, and when to connect again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

LONGEST_PAUSE_MS: Final = 30_000
"""Between two attempts to connect, unless the server wants a longer one."""
LONGEST_WISH_MS: Final = 600_000
DOUBLINGS_MAX: Final = 8


@dataclass(slots=True)
class _UnderWay:
    last_id: str
    is_done: bool = False


class Reached:
    """Behind which event nothing is under way."""

    def __init__(self, last_id: str) -> None:
        self._last_id = last_id
        self._under_way: deque[_UnderWay] = deque()

    def begin(self, last_id: str) -> _UnderWay:
        """An event was given out; `last_id`: with which somebody goes on behind it."""
        self._under_way.append(_UnderWay(last_id))
        return self._under_way[-1]

    @property
    def last_id(self) -> str:
        """With which somebody else has to go on now."""
        while self._under_way and self._under_way[0].is_done:
            self._last_id = self._under_way.popleft().last_id
        return self._last_id


class Pause:
    """Of one source, over its connections: after each failure in a row twice as long."""

    def __init__(self, first_ms: int) -> None:
        self._first_ms = first_ms
        self._failures = 0
        self._until_ms = 0
        self.reason = ""

    @property
    def has_failed(self) -> bool:
        """And has not connected since."""
        return self._failures > 0

    def wished(self, wish_ms: int) -> None:
        """The server wants this pause before a connection."""
        self._first_ms = min(wish_ms, LONGEST_WISH_MS)

    def failed(self, now_ms: int, reason: str) -> None:
        """A connection has ended, or none could be made."""
        longest_ms = max(LONGEST_PAUSE_MS, self._first_ms)
        pause_ms = min(self._first_ms * 2 ** min(self._failures, DOUBLINGS_MAX), longest_ms)
        self._failures += 1
        self._until_ms, self.reason = now_ms + pause_ms, reason

    def connected(self) -> None:
        """The next pause is the first one again."""
        self._failures = 0

    def rest_ms(self, now_ms: int) -> int:
        """Until somebody may connect; 0: now."""
        return max(0, self._until_ms - now_ms)
