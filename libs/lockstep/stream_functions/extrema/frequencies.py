"""How often each value is there, with the most and the least frequent ones at hand."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

from lockstep.operators.contract import PlainState


class Frequencies:
    """Values by their frequency. Of those with the same one the latest that got it stands first.

    A change takes a binary search among the different frequencies, and a list of k values about
    k steps, however many values there are.
    """

    def __init__(self) -> None:
        self._of_value: dict[Any, int] = {}
        self._values: dict[int, dict[Any, None]] = {}
        self._levels: list[int] = []

    def change(self, value: Any, by: int) -> None:
        """The value came (1) or left (-1); one that is not there any more is forgotten."""
        value = math.nan if value != value else value  # a dict tells two NaN apart
        before = self._of_value.pop(value, 0)
        if before:
            self._leave(value, before)
        if before + by > 0:
            self._put(value, before + by)

    def _leave(self, value: Any, level: int) -> None:
        values = self._values[level]
        del values[value]
        if not values:
            del self._values[level]
            del self._levels[bisect.bisect_left(self._levels, level)]

    def _put(self, value: Any, level: int) -> None:
        self._of_value[value] = level
        if level not in self._values:
            self._values[level] = {}
            bisect.insort(self._levels, level)
        self._values[level][value] = None

    def listed(self, places: int, *, most: bool) -> tuple[Any, ...]:
        """value, frequency, value, frequency, … of the most or the least frequent values."""
        levels: Iterable[int] = reversed(self._levels) if most else self._levels
        pairs = ((value, n) for n in levels for value in reversed(self._values[n]))
        return tuple(chain.from_iterable(islice(pairs, places)))

    def clear(self) -> None:
        """Nothing is there."""
        self._of_value.clear()
        self._values.clear()
        self._levels.clear()

    def __len__(self) -> int:
        """How many different values are there."""
        return len(self._of_value)

    def snapshot(self) -> PlainState:
        """Each value with its frequency, those of one frequency in the order of their coming."""
        return [(value, level) for level in self._levels for value in self._values[level]]

    def restore(self, state: PlainState) -> None:
        """Takes over what `snapshot` gave."""
        self.clear()
        for value, level in state:
            self._put(math.nan if value != value else value, level)
