"""Tables on columns: one store of rows with hash indexes; all writes of a slice in order, reads at
their moments (semantics 10).

Within a slice old versions of rows stay, so queries that read a table look at what it was when
their event came, although the writes of the whole slice are done first. That is exact as long as no
query that writes depends on one that reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Column, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.merging import counts_before
from lockstep.columns.order import Order
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import StreamSchema
from lockstep.operators.contract import StreamEvent
from lockstep.tables import kernel as tables
from lockstep.tables.chains import EVERY, Chains, Heads
from lockstep.tables.meaning.order import key_hash
from lockstep.tables.meaning.row_store import one_row_per_key

Longs = npt.NDArray[np.int64]
_FORGET_MIN = 4096


@dataclass(frozen=True, eq=False)
class Journal:
    """What a slice changed (see kernel), where its writes stand, how many `rows` there are behind
    it, and the most there ever were before it."""

    entries: Longs
    order: Order
    rows: int
    peak_before: int

    @cached_property
    def peaks(self) -> Longs:
        """The most rows there ever were at each change."""
        more = (self.entries[:, 2] >= 0).astype(np.int64) - (self.entries[:, 1] >= 0)
        rows = self.rows - more.sum() + np.cumsum(more)
        found: Longs = np.maximum(np.maximum.accumulate(rows), self.peak_before)
        return found


class Comes(Protocol):
    """Values of the rows that a slice brought, which nobody has written yet (tables.coming)."""

    def write(self, attribute: int) -> None:
        """Of all rows; once."""

    def write_times(self) -> None:
        """The timestamps of all rows; once."""

    def settle(self, stay: Longs) -> None:
        """What is not written yet, of the rows that these entries brought, which stay."""


class Index:
    """A hash index over some attributes. `number` is its place among those of its table."""

    def __init__(self, number: int, attributes: tuple[int, ...]) -> None:
        self.number = number
        self.attributes = attributes
        self.keys = KeySpace()

    def ids(self, columns: Sequence[Column], *, create: bool) -> Ids:
        """The keys of rows with these values; -1 for those that are not known and shall not be, and
        for reads of null and NaN, which are equal to nothing."""
        length = len(columns[0]) if columns else 0
        if not length:
            return np.zeros(length, np.int64)
        names = [value_names(column) for column in columns]
        codes, keys = names[0] if len(names) == 1 else combined(names)
        if create:
            return self.keys.assign(codes, keys)
        table = np.array([self.keys.find(key) for key in keys], np.int64)
        found: Ids = table[codes]
        for column in columns:
            gone = missing(column)
            if gone is not None:
                found[gone] = -1
        return found


class KeyHashes:
    """By which Java's map has the rows of a keyed table: a hash per key of the primary index."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.int64)

    def of(self, index: Index, keys: Longs) -> Longs:
        """Those of some keys."""
        known = len(self._hashes)
        if known < len(index.keys):
            new: list[Any] = index.keys.keys[known:]
            hashes = [key_hash(key if isinstance(key, tuple) else (key,)) for key in new]
            self._hashes = np.concatenate([self._hashes, np.array(hashes, np.int64)])
        found: Longs = self._hashes[keys]
        return found

    def forget(self, left: Longs) -> None:
        """Only these keys are left."""
        self._hashes = self._hashes[left[left < len(self._hashes)]]


def missing(column: Column) -> npt.NDArray[np.bool_] | None:
    """Where a column has a null or NaN; None for nowhere."""
    if column.values.dtype.kind != "f":
        return column.nulls
    gone = np.isnan(column.values)
    return gone if column.nulls is None else gone | column.nulls


class TableStore:
    """The rows of a table. `primary` are the attributes of its key, `indexed` those of @Index; a
    null in `not_null` has no columnar form."""

    def __init__(
        self,
        schema: StreamSchema,
        primary: tuple[int, ...],
        indexed: tuple[int, ...],
        pool: StringPool,
    ) -> None:
        self.schema = schema
        self.primary = primary
        self.is_sorted = len(primary) == 1 and schema.types[primary[0]].is_numeric
        self.not_null = tuple(dict.fromkeys((*indexed, *primary)))
        self.held = HeldRows(schema.types, pool, extras=1)
        self.indexes = [Index(EVERY, ())]
        self.journal: Journal | None = None
        self.coming: Comes | None = None
        self.rows: Chains | Heads = Chains(1)
        self._spare = np.zeros(0, np.int64)
        self.peak_before = 0
        self.hashes = KeyHashes()
        # All that is looked for is looked for in the index over these, where that can be.
        self.asked: tuple[int, ...] = ()
        # See kernel.Numbers.
        self._totals = np.zeros(3, np.int64)
        if primary:
            self.index(primary)

    def __len__(self) -> int:
        return int(self._totals[1])

    @property
    def numbers(self) -> Longs:
        """The rows' numbers by place: the order of arrival."""
        return self.held.extra(0)

    @property
    def numbering(self) -> tables.Numbers:
        """As kernels take it, with room for all places that there are."""
        return tables.Numbers(self.numbers, self._totals)

    def index(self, attributes: tuple[int, ...]) -> Index:
        """The index over these attributes, which is made if there is none; before rows come."""
        if not attributes:
            return self.indexes[EVERY]
        for each in self.indexes:
            if each.attributes == attributes:
                return each
        self.indexes.append(Index(len(self.indexes), attributes))
        self.rows = Chains(len(self.indexes))
        return self.indexes[-1]

    @property
    def entries(self) -> Longs:
        """What the slice changed so far (see kernel)."""
        return np.zeros((0, 3), np.int64) if self.journal is None else self.journal.entries

    @property
    def primary_index(self) -> int:
        """The number of the primary key's index, -1 without a key."""
        return self.index(self.primary).number if self.primary else -1

    @property
    def scans(self) -> bool:
        """Whether rows keep their keys, so that reads may look at all of them at once (scan)."""
        return not self.primary or isinstance(self.rows, Heads)

    def find_by_key(self) -> None:
        """Its rows are found by the primary key or all looked at, they keep their keys, and there
        are none yet: so nobody needs chains."""
        assert self.primary
        if not isinstance(self.rows, Heads):
            self.rows = Heads()

    def check(self, columns: Sequence[Column | None]) -> None:
        """Unfit for nulls and NaN where the reference refuses them, or takes them for a text; None
        for what stays."""
        for attribute in self.not_null:
            column = columns[attribute]
            gone = None if column is None else missing(column)
            if gone is not None and gone.any():
                raise Unfit(
                    f"null or NaN in {self.schema.names[attribute]}, a key or index of a table"
                )

    # --- writing ---------------------------------------------------------------------------------

    def follow(self, entries: Longs, keys: Longs, order: Order) -> None:
        """Takes over what was changed elsewhere; `keys` are those of new rows by index."""
        self.make_room()
        entries = plain(entries, np.int64)
        self.rows.follow(entries, keys)
        tables.number_rows(entries, self.numbering)
        self.keep(entries, order, np.zeros(0, np.int64))

    def keep(self, entries: Longs, order: Order, spare: Longs) -> None:
        """The journal of what was written; `spare` are places that it did not need."""
        self._spare = spare
        self.journal = Journal(entries, order, len(self), self.peak_before)

    def new_places(self, count: int) -> Longs:
        """Places for rows that come."""
        places = self.held.take(count)
        self.make_room()
        return places

    def make_room(self) -> None:
        """For all keys and places that there are."""
        keys = max(1, *(len(index.keys) for index in self.indexes))
        self.rows.reserve(keys, len(self.held.times))

    # --- reading ---------------------------------------------------------------------------------

    def writes_before(self, order: Order) -> Longs:
        """How many of the slice's writes are done at places of the run."""
        if self.journal is None:
            return np.zeros(len(order), np.int64)
        return counts_before(self.journal.order, order)

    def column(self, attribute: int, places: Longs) -> Column:
        """The values of an attribute of rows, null in places of -1; also of those that the slice
        brought."""
        if self.coming is not None:
            self.coming.write(attribute)
        return self.held.column(attribute, places)

    def times_of(self, places: Longs) -> Longs:
        """The rows' timestamps."""
        if self.coming is not None:
            self.coming.write_times()
        return self.held.times[places]

    def settle(self) -> None:
        """The slice is done: old versions of rows may be forgotten."""
        journal, self.journal = self.journal, None
        coming, self.coming = self.coming, None
        self.peak_before = int(self._totals[2])
        if journal is None:
            return
        entries = journal.entries
        gone = np.zeros(len(self.held.times), np.bool_)
        freed, lines = np.empty(len(entries), np.int64), np.empty(len(entries), np.int64)
        went, stay = tables.settle(entries, gone, freed, lines)
        if coming is not None:
            coming.settle(entries.take(lines[:stay], axis=0))
        self.held.places.give_back(np.concatenate([freed[:went], self._spare]))
        self._spare = np.zeros(0, np.int64)
        for index in self.indexes[1:]:
            left = _forget_keys(index, self.rows)
            if left is not None and index.attributes == self.primary:
                self.hashes.forget(left)

    # --- state -----------------------------------------------------------------------------------

    def places(self, index: int = EVERY, key: int = 0) -> Longs:
        """The rows in order of arrival; or those with a key of an index, none for one that is not
        known (-1)."""
        if key < 0:
            return np.zeros(0, np.int64)
        found = self.rows.places(index, key)
        if index == EVERY and isinstance(self.rows, Heads):
            found = found[np.argsort(self.numbers[found])]
        return found

    def store(self, places: Longs | None = None) -> Any:
        """As the reference's table has it: the most rows there ever were, rows in order; of some
        places alone where they are given."""
        places = self.places() if places is None else places
        events = events_of(self.held, places).events()
        return (int(self._totals[2]), [(event.timestamp_ms, event.data) for event in events])

    def load(self, state: Any) -> None:
        peak, rows = state
        rows = one_row_per_key(rows, self.primary)
        events = [StreamEvent(time, tuple(data)) for time, data in rows]
        times, columns = columns_of(events, self.schema.types)
        places = self.held.add(columns, times, [np.zeros(len(times), np.int64)])
        if len(times):
            writes = np.arange(len(times), dtype=np.int64)
            entries = np.stack([writes, np.full(len(times), -1, np.int64), places], axis=1)
            keys = self.keys_of(columns, len(times))
            self.follow(entries, keys, Order(writes))
        self._totals[2] = self.peak_before = peak
        self.journal = None

    def keys_of(self, columns: Sequence[Column], count: int) -> Longs:
        """The keys of rows, by index."""
        keys = np.zeros((len(self.indexes), count), np.int64)
        for index in self.indexes[1:]:
            keys[index.number] = index.ids([columns[i] for i in index.attributes], create=True)
        return keys


def _forget_keys(index: Index, rows: Chains | Heads) -> Longs | None:
    """Forgets keys without rows where most have none: the old numbers of those that are left."""
    count = len(index.keys)
    live = rows.head(index.number)[:count] != -1
    if count <= _FORGET_MIN or 2 * int(live.sum()) >= count:
        return None
    moved = index.keys.compact(live)
    left = np.flatnonzero(live)
    rows.move(index.number, left, moved)
    return left
