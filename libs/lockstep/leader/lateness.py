"""How long leases live in a process that is held up again and again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_REMEMBERED_MS: Final = 30_000
"""A hold-up counts for so long, and for half as long again at most."""
_TIMES: Final = 4
"""A lease outlives so many hold-ups of the usual length: as many as renewals fit into its life."""


@dataclass
class LeaseLife:
    """`ttl_ms` is what a lease is asked for: `shortest_ms`, as long as this process wakes in time.

    On starved cores a renewal comes late time and again. With a life that is too short for that,
    the lead moves to a process that is starved as much, and each move is work for both. So leases
    live longer there, up to `longest_ms`. One hold-up alone changes nothing: the second longest of
    the last half minute counts. Whoever dies is noticed by its connection at once, at any life.
    """

    shortest_ms: int
    longest_ms: int
    _since_ms: int = 0
    _before: list[int] = field(default_factory=list)
    _now: list[int] = field(default_factory=list)
    _told_ms: int = 0

    def woke(self, now_ms: int, late_ms: int) -> None:
        """The process goes on so much later than it wanted to."""
        if now_ms - self._since_ms >= _REMEMBERED_MS // 2:
            is_old = now_ms - self._since_ms >= _REMEMBERED_MS
            self._before, self._now, self._since_ms = [] if is_old else self._now, [], now_ms
        self._now = sorted((*self._now, late_ms), reverse=True)[:2]

    @property
    def ttl_ms(self) -> int:
        """Between `shortest_ms` and `longest_ms`."""
        worst = sorted((*self._before, *self._now), reverse=True)
        usual_ms = worst[1] if len(worst) > 1 else 0
        return max(self.shortest_ms, min(_TIMES * usual_ms, self.longest_ms))

    def is_late(self) -> bool | None:
        """What is to be told of: leases live twice as long as was told last, or as short as ever
        again. None as a rule: it changes with every breath of a busy machine."""
        ttl_ms, told_ms = self.ttl_ms, max(self._told_ms, self.shortest_ms)
        if ttl_ms < 2 * told_ms and not ttl_ms == self.shortest_ms != told_ms:
            return None
        self._told_ms = ttl_ms
        return ttl_ms != self.shortest_ms
