"""sort(n, attribute [, 'asc'|'desc'] …): keeps the n smallest in the given order (semantics
7.10).
"""

from __future__ import annotations

from bisect import insort_right
from collections import deque
from functools import cmp_to_key
from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import HoldingWindow
from lockstep.windows.registry import WindowCall


def _keys(call: WindowCall) -> list[tuple[int, int]]:
    """(attribute, 1 ascending or -1 descending), in order of precedence."""
    keys: list[tuple[int, int]] = []
    for index in range(1, len(call)):
        if call.is_attribute(index):
            keys.append((call.attribute(index), 1))
        elif str(call.constant(index)).lower() == "desc":
            keys[-1] = (keys[-1][0], -1)
    return keys


class SortWindow(HoldingWindow):
    """`[C new][X the largest beyond n]`; among equals the latest goes."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length = int(call.constant(0))
        keys = _keys(call)

        def compare(left: StreamEvent, right: StreamEvent) -> int:
            for attribute, direction in keys:
                one, other = left.data[attribute], right.data[attribute]
                if one == other or (one != one and other != other):
                    continue
                if one is None or other is None:
                    # As in `order by`, nulls come last in either direction: they leave first.
                    return 1 if one is None else -1
                # NaN is greater than all numbers, as in `order by`.
                return direction if one > other or one != one else -direction
            return 0

        self._sort_key: Any = cmp_to_key(compare)
        self._is_ordered = False

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            out.append(event)
            if self._is_ordered:
                insort_right(self._held, event, key=self._sort_key)
            else:
                self._held.append(event)
            if len(self._held) > self._length:
                self._put_in_order()
                out.append(StreamEvent(now, self._held.pop().data, EXPIRED))
        self.emit(out)

    def _put_in_order(self) -> None:
        """Once: what comes later goes to its place, behind its equals."""
        if not self._is_ordered:
            self._held = deque(sorted(self._held, key=self._sort_key))
            self._is_ordered = True

    def restore(self, state: PlainState) -> None:
        super().restore(state)
        self._is_ordered = False
