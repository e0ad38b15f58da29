"""Reads that look at all rows of a table, each when so many writes of the slice were done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lockstep.columns.column import Column, Longs, Suspected
from lockstep.columns.compiled import plain
from lockstep.events import AttributeType
from lockstep.operators.limits import allowed
from lockstep.siddhiql import ast
from lockstep.tables import scan_kernel as kernel
from lockstep.tables.chains import BLOCK_ROWS, Found, Keep, kept

PART_ENTRIES = 4096
"""Entries that one set of lines serves: what they take away has a line among the rows."""

_TESTS = {
    ast.CompareOperator.LESS: (kernel.GREATER, True),
    ast.CompareOperator.LESS_EQUAL: (kernel.GREATER_EQUAL, True),
    ast.CompareOperator.GREATER: (kernel.GREATER, False),
    ast.CompareOperator.GREATER_EQUAL: (kernel.GREATER_EQUAL, False),
}
_WHOLE = (AttributeType.INT, AttributeType.LONG)
MIRRORED = {
    ast.CompareOperator.LESS: ast.CompareOperator.GREATER,
    ast.CompareOperator.LESS_EQUAL: ast.CompareOperator.GREATER_EQUAL,
    ast.CompareOperator.GREATER: ast.CompareOperator.LESS,
    ast.CompareOperator.GREATER_EQUAL: ast.CompareOperator.LESS_EQUAL,
}


@dataclass(frozen=True, eq=False)
class Bound:
    """`row.attribute <operator> limit`, of numbers that compare in 64 bits as they are; `limits`
    has a value per read."""

    attribute: int
    operator: ast.CompareOperator
    limits: Column

    @property
    def test(self) -> int:
        """As the kernel has it."""
        return _TESTS[self.operator][0]

    def numbers(self, column: Column, *, whole: bool) -> Any:
        """Values that compare as the kernel compares; null is equal to nothing, as NaN is. None
        where a null has no number."""
        values: Any = column.values.astype(np.int64 if whole else np.float64)
        if column.nulls is not None and column.nulls.any():
            if whole:
                return None
            values[column.nulls] = np.nan
        if not _TESTS[self.operator][1]:
            return values
        return ~values if whole else -values


class Scanned(Protocol):
    """A table, as far as scans need it; `capacity`: of places."""

    capacity: int

    def places(self) -> Longs:
        """The rows that there are behind the slice."""

    def column(self, attribute: int, places: Longs) -> Column:
        """Values of rows."""

    def arrangement(self, places: Longs, mask: int) -> Longs:
        """What brings rows in their order, under a mask of buckets."""

    def masks(self) -> Longs:
        """The mask of the buckets in front of the slice, and behind each of its entries."""


class Scan:
    """One call's reads, of a table whose rows keep their keys while they are changed."""

    def __init__(
        self,
        table: Scanned,
        entries: Longs,
        keep: Keep | None,
        bound: Bound | None,
        *,
        arranges: bool,
    ) -> None:
        self._table = table
        self._entries = plain(entries, np.int64)
        self._keep = keep
        self._bound = bound
        self._arranges = arranges
        self._line = np.empty(table.capacity, np.int64)
        self._whole = False
        self._limits: Any = None
        if bound is not None:
            row = table.column(bound.attribute, np.zeros(0, np.int64)).type
            self._whole = row in _WHOLE and bound.limits.type in _WHOLE

    def run(self, when: Longs) -> Found | None:
        """What reads find that come when so many entries are made, which ascends. None where a null
        has no number; Suspected where one finds too many rows."""
        self._limits = np.zeros(len(when))
        if self._bound is not None:
            self._limits = self._bound.numbers(self._bound.limits, whole=self._whole)
        if self._limits is None:
            return None
        masks = self._table.masks()
        places, left = self._table.places(), len(when)
        parts: list[Found] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for first, end in self._parts(masks, len(places)):
            if not left:
                break
            begin = int(np.searchsorted(when[:left], first, "right")) if end else 0
            lines = self._lines(places, first, end, int(masks[end]))
            if lines is None:
                return None
            own = slice(begin, left)
            for reads, found in self._found(
                when[own] - first, self._limits[own], lines, self._entries[first:end]
            ):
                parts.append(kept(reads + begin, found, self._keep))
            left, places = begin, lines.at[lines.at >= 0]
        reads, places = (np.concatenate(each[::-1]) for each in zip(*parts, strict=True))
        return reads, places

    def _parts(self, masks: Longs, rows: int) -> Iterator[tuple[int, int]]:
        """Runs of entries, the last first, at whose ends the rows have one order; (0, 0) at the
        end is for reads in front of all entries."""
        turns = np.flatnonzero(masks[1:] != masks[:-1])
        ends = np.union1d(turns, np.arange(0, len(masks), max(PART_ENTRIES, rows))).tolist()
        for first, end in zip(ends[::-1], [len(masks) - 1, *ends[:0:-1]], strict=True):
            if end > first:
                yield first, end
        yield 0, 0

    def _lines(self, places: Longs, first: int, end: int, mask: int) -> kernel.Lines | None:
        """The rows behind the entry `end`, and those that the entries took away."""
        entries = self._entries[first:end]
        gone = entries[entries[:, 2] < 0, 1]
        own = np.concatenate([places, gone])
        arranged = np.arange(len(own))
        if self._arranges:
            arranged = self._table.arrangement(own, mask)
        own = own[arranged]
        self._line[own] = np.arange(len(own))
        at = np.where(arranged < len(places), own, -1)
        cells, olds = np.zeros(len(own)), np.zeros(len(entries))
        if self._bound is not None:
            attribute = self._bound.attribute
            before = np.maximum(entries[:, 1], 0)
            cells, olds = (
                self._bound.numbers(self._table.column(attribute, each), whole=self._whole)
                for each in (own, before)
            )
            if cells is None or olds is None:
                return None
        return kernel.Lines(at, cells, self._line, olds)

    def _found(
        self, when: Longs, limits: Any, lines: kernel.Lines, entries: Longs
    ) -> Iterator[Found]:
        """What reads find in blocks, the last first; the entries are taken back."""
        when, limits = plain(when, np.int64), np.ascontiguousarray(limits)
        test = kernel.ALL if self._bound is None else self._bound.test
        state = np.array([len(when), len(entries), 0], np.int64)
        width = max(1, len(lines.at))
        room = max(width, min(BLOCK_ROWS, width * max(len(when), 1)))
        while state[0] or state[1]:
            rows = kernel.Rows(np.empty(room, np.int64), np.empty(room, np.int64))
            begin = kernel.scan(when, entries, lines, test, limits, allowed(1), rows, state)
            if state[2]:
                raise Suspected("an event finds too many rows of a table")
            yield rows.reads[begin:], rows.places[begin:]
