"""How much of the log a slice takes, and when: small and at once when quiet, large under load.

A slice takes what is there, but no more than folds in a bounded time: an app whose events are heavy
takes many short turns instead of few long ones, and neighbours on the same cores get theirs in
between. How the log is cut changes no result (invariant 2). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FORGETTING: Final = 0.7
"""The weight of what is known with each further slice: the last few count, as a starved machine
is starved for a while and then is not."""

SPREAD_MIN: Final = 0.05
"""Sizes that differ by less, as a share of their mean, tell nothing about what an event adds."""


class SliceCost:
    """What a slice costs by itself, and what each event adds, as the last slices tell.

    A line through (events, duration), older slices counting less. While all slices are of one size
    the share of the slice itself stays what it was; None while sizes never differed.
    """

    def __init__(self) -> None:
        self._weight = self._events = self._ms = self._squares = self._products = 0.0
        self.fixed_share: float | None = None

    def learn(self, events: int, duration_ms: int) -> None:
        """A slice of so many events took so long."""
        keep = FORGETTING
        self._weight = keep * self._weight + 1
        self._events = keep * self._events + events
        self._ms = keep * self._ms + duration_ms
        self._squares = keep * self._squares + events * events
        self._products = keep * self._products + events * duration_ms
        events_mean, ms_mean = self._events / self._weight, self._ms / self._weight
        spread = self._squares / self._weight - events_mean**2
        if spread > (SPREAD_MIN * events_mean) ** 2 and ms_mean > 0:
            slope = (self._products / self._weight - events_mean * ms_mean) / spread
            self.fixed_share = min(max(1 - slope * events_mean / ms_mean, 0.0), 1.0)

    @property
    def fixed_ms(self) -> float:
        """What a slice costs whatever is in it."""
        return (self.fixed_share or 0.0) * self._ms / self._weight

    def of(self, events: int) -> float:
        """What a slice of so many events would take, in milliseconds."""
        own = (self._ms / self._weight - self.fixed_ms) * self._weight / max(self._events, 1.0)
        return self.fixed_ms + own * events


class SliceSize:
    """Events per slice: fewer when one took longer than the target, more when a full one was
    shorter.

    No slice is made so small that most of its time is its own cost. Where cores are starved and
    that cost alone is near the target, smaller slices would take as long and bring less, and the
    log would grow for ever.
    """

    def __init__(self, *, limit: int, target_ms: int) -> None:
        self._limit = limit
        self._target_ms = target_ms
        self._cost = SliceCost()
        self.events = limit

    def took(self, duration_ms: int, events: int, *, has_more: bool) -> None:
        """A slice of so many events took so long; `has_more`: it was full."""
        self._cost.learn(events, duration_ms)
        # At least half of a slice's time shall be its events'.
        target_ms = max(self._target_ms, 2 * self._cost.fixed_ms)
        nothing_known = self._cost.fixed_share is None and events == 1
        if duration_ms > target_ms and not nothing_known:
            self.events = max(1, min(self.events, events) // 2)
        elif has_more and (
            nothing_known
            or duration_ms * 4 <= self._target_ms
            or self._cost.of(2 * self.events) <= target_ms
        ):
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
