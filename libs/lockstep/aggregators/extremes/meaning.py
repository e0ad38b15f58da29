"""The smallest or largest value: of those present, or ever."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from lockstep.aggregators.contract import Debt
from lockstep.operators.contract import PlainState

_STALE_MAX = 64
"""Entries of values that have left which a heap may hold beside those of the present ones."""


class Minimum:
    """The smallest value present, whatever the order in which values leave.

    A heap of the values that may be the smallest, and how often each is present. Entries of values
    that have left are thrown away when they come to the top, or all at once when they are many.
    An entry of 0.0 that has left stands for a -0.0 that came later, so the present one is kept.
    """

    __slots__ = ("_copies", "_debt", "_heap", "_only_grows", "_zero")
    _sign = 1

    def __init__(self) -> None:
        self._only_grows = False
        self._copies: dict[float, int] = {}
        self._debt = Debt()
        self._heap: list[float] = []
        self._zero: float = 0

    def add(self, value: float | None) -> None:
        if value is None or value != value:  # NaN has no place in an order
            return
        value *= self._sign
        if self._only_grows:
            if not self._heap or value < self._heap[0]:
                self._heap, self._copies = [value], {value: 1}
                self._zero = value
            return
        if self._debt.count and self._debt.pays(value):
            return
        copies = self._copies
        if value in copies:
            copies[value] += 1
            return
        copies[value] = 1
        if value == 0:
            self._zero = value
        heapq.heappush(self._heap, value)
        if len(self._heap) > 2 * len(copies) + _STALE_MAX:
            self._heap = sorted(copies)

    def never_shrinks(self) -> None:
        """No event will ever leave: the extreme is all that needs to be kept."""
        self._only_grows = True

    def remove(self, value: float | None) -> None:
        if value is None or value != value:
            return
        value *= self._sign
        left = self._copies.get(value, 0) - 1
        if left < 0:
            self._debt.owe(value)
            return
        self._debt.count = 0
        if left > 0:
            self._copies[value] = left
            return
        del self._copies[value]
        heap, copies = self._heap, self._copies
        while heap and heap[0] not in copies:
            heapq.heappop(heap)

    def reset(self) -> None:
        self._copies.clear()
        self._debt.count = 0
        self._heap.clear()

    def value(self) -> float | None:
        if not self._heap:
            return None
        return (self._heap[0] or self._zero) * self._sign

    def is_empty(self) -> bool:
        return not self._copies and not self._debt.count

    def snapshot(self) -> PlainState:
        return sorted([*self._copies.items(), *self._debt.saved()])

    def restore(self, state: PlainState) -> None:
        self._copies = dict(state)
        self._debt.take_out(self._copies)
        self._heap = sorted(self._copies)
        self._zero = next((value for value in self._copies if value == 0), 0)


class Maximum(Minimum):
    """The largest value present: the smallest of the negated ones."""

    __slots__ = ()
    _sign = -1


class Forever:
    """The smallest or largest value ever: neither leaving events nor resets take it back."""

    __slots__ = ("_choose", "_value")

    def __init__(self, choose: Callable[[float, float], float]) -> None:
        self._choose = choose
        self._value: float | None = None

    def add(self, value: float | None) -> None:
        if value is not None:
            self._value = value if self._value is None else self._choose(self._value, value)

    def remove(self, value: float | None) -> None:
        """A value that leaves has been here: it counts too."""
        self.add(value)

    def reset(self) -> None:
        """For ever is for ever."""

    def value(self) -> float | None:
        return self._value

    def is_empty(self) -> bool:
        return self._value is None

    def snapshot(self) -> PlainState:
        return self._value

    def restore(self, state: PlainState) -> None:
        self._value = state
