"""Tables with a primary key, on columns: all writes of a slice in order, reads at their moments.

Within a slice old versions of rows stay readable, so queries that read a table look at what it was
when their event came, although the writes of the whole slice are done first. That is exact as long
as no query that writes depends on one that reads; then the units have no order and the app stays on
the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import grown
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.order import Order, counts_before
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import StreamSchema
from lockstep.operators.contract import StreamEvent
from lockstep.tables import kernel as tables

Longs = npt.NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Writer:
    """A query that writes: what it does, and where its output has what.

    `key`: the places of the primary key's attributes. `places`: those of the table's attributes,
    None for a null; nothing for deletions. `keeps`: which attributes a row that is there already
    keeps.
    """

    kind: int
    key: tuple[int, ...]
    places: tuple[int | None, ...] = ()
    keeps: tuple[bool, ...] = ()

    def keeps_attribute(self, attribute: int) -> bool:
        """Whether a row that is there keeps its value."""
        return bool(self.keeps) and self.keeps[attribute]


@dataclass(frozen=True, eq=False)
class Writes:
    """The writes of a slice in order: key, new place (-1: none), place before, moment."""

    key: Ids
    place: Longs
    previous: Longs
    order: Order


def key_ids(space: KeySpace, columns: Sequence[Column], *, create: bool) -> Ids:
    """Ids of primary keys; -1 for keys that are not known and shall not be. Unfit for nulls and NaN
    among keys that are written."""
    for column in columns if create else ():
        has_null = column.nulls is not None and bool(column.nulls.any())
        values = column.values
        if has_null or (values.dtype.kind == "f" and np.isnan(values).any()):
            raise Unfit("a null in a primary key")
    names = [value_names(column) for column in columns]
    codes, keys = names[0] if len(names) == 1 else combined(names)
    if create:
        return space.assign(codes, keys)
    table = np.array([space.find(key) for key in keys], np.int64)
    return table[codes] if len(table) else _NONE


class TableStore:
    """The rows of a table by primary key."""

    def __init__(self, schema: StreamSchema, primary: tuple[int, ...], pool: StringPool) -> None:
        self.schema = schema
        self.primary = primary
        self.held = HeldRows(schema.types, pool)
        self.keys = KeySpace()
        self.latest = np.full(0, -1, np.int64)
        self.writes: Writes | None = None
        self._number = np.zeros(0, np.int64)
        self._next_number = 0
        self._rows = 0
        self._peak_rows = 0

    def __len__(self) -> int:
        return self._rows

    def write(self, kind: Longs, key: Ids, place: Longs, order: Order) -> Longs:
        """Applies writes in order; gives the place of each key's row before, or NOTHING."""
        self.latest = grown(self.latest, len(self.keys), -1)
        self._number = grown(self._number, len(self.keys))
        previous, self._next_number = tables.write(
            kind, key, place, self.latest, self._number, self._next_number
        )
        self.writes = Writes(key, np.where(kind == tables.DELETE, -1, place), previous, order)
        self._count(kind, previous)
        return previous  # type: ignore[no-any-return]

    def keep(
        self, attribute: int, keeps: npt.NDArray[np.bool_], place: Longs, previous: Longs
    ) -> None:
        """Rows that were there keep an attribute, write by write; `previous` is what `write`
        gave."""
        if not keeps.any():
            return
        origin = np.arange(len(self.held.times), dtype=np.int64)
        tables.find_origins(keeps, place, previous, origin)
        changed = place[keeps & (previous >= 0)]
        self.held.copy(attribute, origin[changed], changed)

    def _count(self, kind: Longs, previous: Longs) -> None:
        steps = np.where(previous == -1, 1, 0) - ((kind == tables.DELETE) & (previous >= 0))
        counts = self._rows + np.cumsum(steps)
        if len(counts):
            self._peak_rows = max(self._peak_rows, int(counts.max()))
            self._rows = int(counts[-1])

    def read(self, columns: Sequence[Column], chunks: Chunks, order: Order) -> Longs:
        """The place of the row with each event's key when the event came, or -1; `order` tells when
        the chunks are looked at."""
        key = key_ids(self.keys, columns, create=False)
        for column in columns:
            if column.nulls is not None:
                key = np.where(column.nulls, -1, key)
            if column.values.dtype.kind == "f":
                key = np.where(np.isnan(column.values), -1, key)
        self.latest = grown(self.latest, len(self.keys), -1)
        writes = self.writes
        if writes is None or not len(writes.key):
            found = np.full(len(key), -1, np.int64)
            known = key >= 0
            found[known] = self.latest[key[known]]
            return found
        before = chunks.per_event(counts_before(writes.order, order))
        place = tables.read(
            plain(key, np.int64), before, writes.key, writes.place, writes.previous, self.latest
        )
        return place  # type: ignore[no-any-return]

    def settle(self) -> None:
        """The slice is done: old versions of rows may be forgotten."""
        writes, self.writes = self.writes, None
        if writes is None:
            return
        gone = writes.previous[writes.previous >= 0]
        refused = writes.place[(writes.previous == tables.NOTHING) & (writes.place >= 0)]
        self.held.places.give_back(np.concatenate([gone, refused]))
        live = self.latest[: len(self.keys)] != -1
        if len(self.keys) > 4096 and 2 * int(live.sum()) < len(self.keys):
            kept = np.flatnonzero(live)
            self.keys.compact(live)
            self.latest, self._number = self.latest[kept].copy(), self._number[kept].copy()

    # --- state -----------------------------------------------------------------------------------

    def store(self) -> Any:
        """As the reference's table has it: the most rows there ever were, rows in order."""
        live = np.flatnonzero(self.latest[: len(self.keys)] != -1)
        ordered = live[np.argsort(self._number[live], kind="stable")]
        events = events_of(self.held, self.latest[ordered]).events()
        return (self._peak_rows, [(event.timestamp_ms, event.data) for event in events])

    def load(self, state: Any) -> None:
        self._peak_rows, rows = state
        events = [StreamEvent(time, tuple(data)) for time, data in rows]
        times, columns = columns_of(events, self.schema.types)
        if not len(times):
            return
        places = self.held.add(columns, times)
        key = key_ids(self.keys, [columns[i] for i in self.primary], create=True)
        kind = np.full(len(key), tables.INSERT, np.int64)
        peak = self._peak_rows
        self.write(kind, key, places, Order(np.zeros(len(key), np.int64)))
        self.writes, self._peak_rows = None, peak
