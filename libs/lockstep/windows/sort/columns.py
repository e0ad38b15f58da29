"""sort(n, attribute …) on columns (semantics 7.10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.arithmetic import ordered
from lockstep.columns.column import Column, Longs, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.growing import GrowingArray
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.windows.chained import Chained
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.sort import kernel as sorting

Keys = Sequence[tuple[int, bool]]
"""(attribute, whether the greatest comes first), in order of precedence."""


class SortWindow(Chained):
    """The n first of each realm."""

    in_order = False

    def __init__(self, setup: Setup, length: int, keys: Keys) -> None:
        super().__init__(setup)
        self._length = length
        self._keys = keys
        self._width = 2 * len(keys)
        self._ranks = GrowingArray(np.int64)
        self._arrived = GrowingArray(np.int64)
        self._below = GrowingArray(np.int64)
        self._came = 0
        self._ordered = np.zeros(1, np.bool_)

    def flow(self, step: Step) -> Flow:
        places, starts, keys = self.enter(step)
        self._rank(places, step.chunks.columns)
        now = plain(step.chunks.now, np.int64)
        out = sorting.slide_by_order(
            *(starts, now, keys, places, self._length, self._rows()),
            *(self._ordered, self.head, self.count),
        )
        return self.made(step, out)

    def inside(self, realm: int) -> Longs:
        """In order of arrival, and since the first one left, in the order that it sorts by."""
        if realm >= len(self.head):
            return np.zeros(0, np.int64)
        rows = self._rows()
        places: Longs = sorting.inside(self.head[realm], self.count[realm], rows.below, rows.beside)
        by = [rows.arrived[places]]
        if self._ordered[realm]:
            by += [rows.ranks[places * rows.width + i] for i in reversed(range(rows.width))]
        return places[np.lexsort(by)]

    def _rows(self) -> sorting.Rows:
        arrays = self._ranks.values, self._arrived.values, self._below.values, self.newer
        return sorting.Rows(*arrays, self._width)

    def _reserve(self, realms: int) -> None:
        super()._reserve(realms)
        self._ordered = grown(self._ordered, realms)

    def _rank(self, places: Longs, columns: Sequence[Column]) -> None:
        """Writes what is compared of rows that come. Unfit for NaN, which is rare: the reference
        has a place for it."""
        capacity = len(self.held.times)
        self._ranks.reserve(capacity * self._width)
        at = places * self._width
        for number, (attribute, falls) in enumerate(self._keys):
            column = columns[attribute]
            rank = _rank_of(column)
            self._ranks.values[at + 2 * number] = 0 if column.nulls is None else column.nulls
            if column.nulls is not None:  # equals of each other, behind all else
                rank = np.where(column.nulls, 0, rank)
            self._ranks.values[at + 2 * number + 1] = ~rank if falls else rank
        self._below.reserve(capacity)
        self._arrived.reserve(capacity)
        self._arrived.values[places] = np.arange(self._came, self._came + len(places))
        self._came += len(places)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        super().load(realm, state, groups)
        places = super().inside(realm)
        self._rank(places, self.held.columns(places))
        self.head[realm] = sorting.heap_of(places, self._rows())


def _rank_of(column: Column) -> Longs:
    """Whole numbers that compare as a column's values do."""
    values = column.values
    if values.dtype.kind != "f":
        found: Longs = values.astype(np.int64)
        return found
    if np.isnan(values if column.nulls is None else values[~column.nulls]).any():
        raise Unfit("NaN in a window that sorts")
    return ordered(values.astype(np.float64))


def sort(call: ColumnarCall, setup: Setup) -> SortWindow:
    """NotLowerable for an order of texts."""
    keys: list[tuple[int, bool]] = []
    for index in range(1, len(call)):
        argument = call.call.arguments[index]
        if not isinstance(argument, ast.Variable):
            keys[-1] = keys[-1][0], str(call.constant(index)).lower() == "desc"
            continue
        ref = call.handler.scope.resolve(argument)
        if ref.type in (AttributeType.STRING, AttributeType.OBJECT):
            raise NotLowerable(f"sort by an attribute of type {ref.type}")
        keys.append((ref.attribute, False))
    return SortWindow(setup, max(0, int(call.constant(0))), keys)
