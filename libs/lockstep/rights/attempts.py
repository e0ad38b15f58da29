"""How often somebody may try to log in: a limit per name and per address. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_KEYS: Final = 10_000


class Attempts:
    """Counts failures of the last `within_ms`; over `limit` one has to wait."""

    def __init__(self, limit: int, within_ms: int) -> None:
        self._limit = limit
        self._within_ms = within_ms
        self._failures: OrderedDict[str, list[int]] = OrderedDict()

    def wait_ms(self, key: str, now_ms: int) -> int:
        """0: go on."""
        recent = self._recent(key, now_ms)
        if len(recent) < self._limit:
            return 0
        return max(1, recent[-self._limit] + self._within_ms - now_ms)

    def failed(self, key: str, now_ms: int) -> None:
        """Once more."""
        self._failures[key] = [*self._recent(key, now_ms), now_ms][-self._limit :]
        self._failures.move_to_end(key)
        while len(self._failures) > MAX_KEYS or self._is_oldest_over(now_ms):
            self._failures.popitem(last=False)

    def succeeded(self, key: str) -> None:
        """Whoever knows the password may have mistyped it before."""
        self._failures.pop(key, None)

    def _is_oldest_over(self, now_ms: int) -> bool:
        """The keys stand in the order of their last failures."""
        oldest = next(iter(self._failures.values()), None)
        return oldest is not None and now_ms - oldest[-1] >= self._within_ms

    def _recent(self, key: str, now_ms: int) -> list[int]:
        return [at for at in self._failures.get(key, ()) if now_ms - at < self._within_ms]
