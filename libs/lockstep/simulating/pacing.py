"""When each event is due, and a watch that can be stopped. Pure but for the clock that is passed
in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

from lockstep.clock import Clock


class Schedule(Protocol):
    """In milliseconds since the start of a feed; events are numbered from 0."""

    def due_ms(self, number: int) -> int:
        """When the event is due."""

    def due_by(self, elapsed_ms: int) -> int:
        """How many events are due by then."""

    def due_before(self, end_ms: int) -> int:
        """How many events are due earlier than that."""


@dataclass(frozen=True, slots=True)
class Even:
    """So many events per second, evenly."""

    rate_per_s: float

    def due_ms(self, number: int) -> int:
        """The first at once."""
        return ceil(number * 1000 / self.rate_per_s)

    def due_by(self, elapsed_ms: int) -> int:
        """See `Schedule`."""
        guess = int(elapsed_ms * self.rate_per_s / 1000) + 1
        # Division rounds: `due_ms` has the last word.
        while guess and self.due_ms(guess - 1) > elapsed_ms:
            guess -= 1
        while self.due_ms(guess) <= elapsed_ms:
            guess += 1
        return guess

    def due_before(self, end_ms: int) -> int:
        """To the event: `due_ms` is rounded up to whole milliseconds, this is not."""
        return ceil(round(end_ms * self.rate_per_s / 1000, 6))


class Timed:
    """As fast as their times say, times a factor. What is repeated goes on one mean gap after the
    last event."""

    def __init__(self, times_ms: Sequence[int], speed: float) -> None:
        first = times_ms[0] if times_ms else 0
        self._offsets = [ceil((one - first) / speed) for one in times_ms]
        self._count = len(times_ms)
        last = self._offsets[-1] if times_ms else 0
        self._round_ms = last + max(1, round(last / max(1, self._count - 1)))

    def due_ms(self, number: int) -> int:
        """See `Schedule`."""
        rounds, place = divmod(number, self._count)
        return rounds * self._round_ms + self._offsets[place]

    def due_by(self, elapsed_ms: int) -> int:
        """See `Schedule`."""
        if elapsed_ms < 0 or not self._count:
            return 0
        rounds, within = divmod(elapsed_ms, self._round_ms)
        return rounds * self._count + bisect_right(self._offsets, within)

    def due_before(self, end_ms: int) -> int:
        """See `Schedule`."""
        if end_ms <= 0 or not self._count:
            return 0
        rounds, within = divmod(end_ms, self._round_ms)
        return rounds * self._count + bisect_left(self._offsets, within)


class Stopwatch:
    """Time that stands still while it is stopped."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._before_ms = 0
        self._since_ms: int | None = None

    @property
    def elapsed_ms(self) -> int:
        """While it ran."""
        now = 0 if self._since_ms is None else self._clock.monotonic_ms() - self._since_ms
        return self._before_ms + now

    def start(self) -> None:
        """Goes on; idempotent."""
        if self._since_ms is None:
            self._since_ms = self._clock.monotonic_ms()

    def stop(self) -> None:
        """Stands still; idempotent."""
        self._before_ms = self.elapsed_ms
        self._since_ms = None

    def set_ms(self, elapsed_ms: int) -> None:
        """From here on, running or not as before."""
        self._before_ms = elapsed_ms
        if self._since_ms is not None:
            self._since_ms = self._clock.monotonic_ms()
