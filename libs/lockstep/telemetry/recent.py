"""What has passed a place lately: how much in a second, and how late it was. Pure.

It costs a few additions for each batch that passes, and nothing for an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WINDOW_MS: Final = 5_000
"""A reading covers one to two of these: some heartbeats, so that a burst of one stays visible."""

EXACT_BITS: Final = 6
"""Times are kept in their highest bits: none is told more than a thirty-second part too low."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`per_s`, rounded to a tenth; times that half of it, and all but a hundredth, did not go over.
    Times are 0 where nothing passed, or nobody knew how late it was."""

    per_s: float = 0.0
    p50_ms: int = 0
    p99_ms: int = 0


NOTHING: Final = Reading()


@dataclass(slots=True)
class _Window:
    since_ms: int
    count: int
    times: dict[int, int]


class Recent:
    """Fed with batches; time is passed in, from a clock that never runs back."""

    def __init__(self, now_ms: int) -> None:
        self._now = _Window(now_ms, 0, {})
        self._before = _Window(now_ms, 0, {})

    def passed(self, now_ms: int, count: int, took_ms: int | None = None) -> None:
        """A batch of `count` has just passed; `took_ms`: how late all of it was, if known."""
        self._turn(now_ms)
        window = self._now
        window.count += count
        if took_ms is not None and count:
            rung = _rung(max(0, took_ms))
            window.times[rung] = window.times.get(rung, 0) + count

    def read(self, now_ms: int) -> Reading:
        """Of the window now and the one before it."""
        self._turn(now_ms)
        before, now = self._before, self._now
        if not before.count and not now.count:
            return NOTHING
        span_ms = max(1_000, now_ms - before.since_ms)
        times = sorted([*before.times.items(), *now.times.items()])
        per_s = round((before.count + now.count) * 1_000 / span_ms, 1)
        return Reading(per_s, _at(times, 50), _at(times, 99))

    def _turn(self, now_ms: int) -> None:
        """The present window becomes the one before when it is full; what is older is forgotten."""
        passed_ms = now_ms - self._now.since_ms
        if passed_ms < WINDOW_MS:
            return
        is_old = passed_ms >= 2 * WINDOW_MS
        self._before = _Window(now_ms - WINDOW_MS, 0, {}) if is_old else self._now
        self._now = _Window(now_ms, 0, {})


def _rung(took_ms: int) -> int:
    low = max(0, took_ms.bit_length() - EXACT_BITS)
    return took_ms >> low << low


def _at(times: list[tuple[int, int]], percent: int) -> int:
    """`times` ascend, each with how many there were."""
    left = -(-sum(count for _, count in times) * percent // 100)
    for took_ms, count in times:
        left -= count
        if left <= 0:
            return took_ms
    return 0


class RecentBy:
    """The same for each of several names, of which those are forgotten that nothing passes."""

    def __init__(self, now_ms: int) -> None:
        self._since_ms = now_ms
        self._by_name: dict[str, Recent] = {}

    def passed(self, now_ms: int, name: str, count: int) -> None:
        """A batch of `count` has just passed."""
        found = self._by_name.get(name)
        if found is None:
            self._forget(now_ms)
            # Nothing of it has passed for a while: its first batch is no sign of many.
            since_ms = max(self._since_ms, now_ms - WINDOW_MS)
            found = self._by_name[name] = Recent(since_ms)
        found.passed(now_ms, count)

    def read(self, now_ms: int) -> dict[str, float]:
        """How much in a second, of the names that anything has passed."""
        self._forget(now_ms)
        return {name: one.read(now_ms).per_s for name, one in self._by_name.items()}

    def _forget(self, now_ms: int) -> None:
        names = self._by_name
        for name in [name for name, one in names.items() if not one.read(now_ms).per_s]:
            del names[name]
