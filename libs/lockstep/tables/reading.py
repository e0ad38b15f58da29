"""What reads find of a table, each at its moment within the slice, in the order of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Column, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.keys import Ids
from lockstep.tables.chains import Found, Heads, Keep, one_each
from lockstep.tables.meaning.order import bucket_mask
from lockstep.tables.scan import Bound, Scan
from lockstep.tables.store import Index, TableStore

Longs = npt.NDArray[np.int64]
_FEW_READS = 64
"""Reads for which it is not worth while to put a whole table in order."""


def read(
    table: TableStore, index: Index, wanted: Ids, before: Longs, keep: Keep | None = None
) -> Found:
    """The rows that each of some reads finds: those with the wanted key of the index when so many
    writes were done."""
    table.make_room()
    if table.journal is None and index.number == table.primary_index:
        return one_each(np.where(wanted < 0, -1, table.rows.head(index.number)[wanted]), keep)
    if (before[1:] < before[:-1]).any():
        arranged = np.argsort(before, kind="stable")
        moved = _moved(keep, arranged)
        return _back(arranged, *read(table, index, wanted[arranged], before[arranged], moved))
    asked, when = plain(wanted, np.int64), plain(before, np.int64)
    found = table.rows.read(index.number, asked, when, table.entries, keep)
    return in_order(table, *found, when)


def has(table: TableStore, index: Index, wanted: Ids, before: Longs) -> Mask | None:
    """Whether each of some reads finds a row; None where that is no less work than to read."""
    rows = table.rows
    if not isinstance(rows, Heads) or (before[1:] < before[:-1]).any():
        return None
    table.make_room()
    asked, when = plain(wanted, np.int64), plain(before, np.int64)
    found: Mask = rows.find(asked, when, table.entries) >= 0
    return found


def scan(table: TableStore, before: Longs, keep: Keep | None, bound: Bound | None) -> Found | None:
    """The same of reads that look at all rows; `keep` is asked of those within the bound. None
    where the bound cannot be told by its numbers."""
    if (before[1:] < before[:-1]).any():
        arranged = np.argsort(before, kind="stable")
        if bound is not None:
            bound = replace(bound, limits=bound.limits.take(arranged))
        found = scan(table, before[arranged], _moved(keep, arranged), bound)
        return None if found is None else _back(arranged, *found)
    few = len(before) < _FEW_READS
    own = Scan(_Ordered(table), table.entries, keep, bound, arranges=not few)
    found = own.run(np.searchsorted(table.entries[:, 0], before).astype(np.int64))
    return in_order(table, *found, before) if few and found else found


class _Ordered:
    """See Scanned."""

    def __init__(self, table: TableStore) -> None:
        self._table = table
        self.capacity = len(table.held.times)

    def places(self) -> Longs:
        return self._table.places()

    def column(self, attribute: int, places: Longs) -> Column:
        return self._table.column(attribute, places)

    def arrangement(self, places: Longs, mask: int) -> Longs:
        found: Longs = np.lexsort(_sorted_by(self._table, places, np.full(1, mask, np.int64)))
        return found

    def masks(self) -> Longs:
        table, journal = self._table, self._table.journal
        peaks = np.zeros(0, np.int64) if journal is None else journal.peaks
        if not table.primary or table.is_sorted:
            return np.zeros(len(peaks) + 1, np.int64)
        return bucket_masks(np.append(table.peak_before, peaks))


def bucket_masks(peaks: Longs) -> Longs:
    """The masks of Java's maps that once held so many rows."""
    masks, last = [bucket_mask(0)], bucket_mask(int(peaks.max(initial=0)))
    while masks[-1] < last:
        masks.append(2 * masks[-1] + 1)
    # A map grows when it is fuller than three quarters.
    full = [3 * (mask + 1) // 4 for mask in masks]
    found: Longs = np.array(masks, np.int64)[np.searchsorted(full, peaks, "left")]
    return found


def in_order(table: TableStore, reads: Longs, places: Longs, before: Longs) -> Found:
    """The rows of each read in the order that they had when so many writes were done: a list's by
    number, a keyed table's by value or as Java's maps have it."""
    if len(reads) < 2 or not (np.diff(reads) == 0).any():
        return reads, places
    masks = np.zeros(1, np.int64)
    if not table.primary:
        numbers = table.numbers[places]
        if not ((np.diff(numbers) < 0) & (np.diff(reads) == 0)).any():
            return reads, places
    elif not table.is_sorted:
        masks = bucket_masks(_peaks(table, before))[reads]
    arranged = np.lexsort([*_sorted_by(table, places, masks), reads])
    return reads[arranged], places[arranged]


def _sorted_by(table: TableStore, places: Longs, masks: Longs) -> list[Any]:
    """By what rows are sorted, the last first, each under its mask of buckets."""
    if table.is_sorted:
        return [table.column(table.primary[0], places).values]
    numbers = table.numbers[places]
    if not table.primary:
        return [numbers]
    index = table.index(table.primary)
    keys = table.rows.keys(index.number)[places]
    return [numbers, table.hashes.of(index, keys) & masks]


def _peaks(table: TableStore, before: Longs) -> Longs:
    """The most rows there ever were when so many writes were done."""
    journal = table.journal
    if journal is None:
        return np.full(len(before), table.peak_before, np.int64)
    at = np.searchsorted(journal.entries[:, 0], before)
    peaks: Longs = np.append(table.peak_before, journal.peaks)[at]
    return peaks


def _moved(keep: Keep | None, events: Longs) -> Keep | None:
    """The same of reads that were put in another order."""
    return None if keep is None else lambda reads, places: keep(events[reads], places)


def _back(arranged: Longs, own: Longs, places: Longs) -> Found:
    """What reads found that were put in another order."""
    reads = arranged[own]
    order = np.argsort(reads, kind="stable")
    return reads[order], places[order]
