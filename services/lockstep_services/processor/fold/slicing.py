"""How much of the log a slice takes, and when: small and at once when quiet, large under load.

A slice takes what is there, but no more than folds in a bounded time: an app whose events are heavy
takes many short turns instead of few long ones, and neighbours on the same cores get theirs in
between. How the log is cut changes no result (invariant 2). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable


class SliceSize:
    """Events per slice: halved when one took longer than the target, doubled when a full one was
    far below it.
    """

    def __init__(self, *, limit: int, target_ms: int) -> None:
        self._limit = limit
        self._target_ms = target_ms
        self.events = limit

    def took(self, duration_ms: int, events: int, *, has_more: bool) -> None:
        """A slice of so many events took so long; `has_more`: it was full."""
        if duration_ms > self._target_ms:
            self.events = max(1, min(self.events, events) // 2)
        elif has_more and duration_ms * 4 <= self._target_ms:
            self.events = min(self._limit, self.events * 2)

    @property
    def records_to_read(self) -> int:
        """One more than a slice can take: without it nobody would know that there is more, and a
        slice that got small once (its process stood still meanwhile) would stay small.
        """
        return self.events + 1

    def fit(self, events_of: Iterable[int]) -> int:
        """How many of the next records (with so many events each) a slice takes: at least one, as a
        record is never cut. A record without events counts as one.
        """
        left, taken = self.events, 0
        for events in events_of:
            left -= max(1, events)
            if left < 0 and taken:
                break
            taken += 1
        return taken


def gather_ms(*, is_active: bool, has_more: bool, standby_gather_ms: int) -> int:
    """How long to let the log grow before the next slice.

    A leader goes on at once, and so does who is behind. A standby that keeps up lets some come
    together: each slice costs it cores that the leader on the same machine could use, and nobody
    waits for its rows.
    """
    return 0 if is_active or has_more else standby_gather_ms
