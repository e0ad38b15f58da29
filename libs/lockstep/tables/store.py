"""Tables on columns: one store of rows with hash indexes; all writes of a slice in order, reads at
their moments (semantics 10).

Within a slice old versions of rows stay, so queries that read a table look at what it was when
their event came, although the writes of the whole slice are done first. That is exact as long as no
query that writes depends on one that reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Column, Suspected, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.order import Order, counts_before
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import StreamSchema
from lockstep.operators.contract import StreamEvent
from lockstep.operators.limits import allowed
from lockstep.tables import kernel as tables
from lockstep.tables.meaning.order import bucket_mask, key_hash

Longs = npt.NDArray[np.int64]
Found = tuple[Longs, Longs]
"""(events, places of the rows that they found), events ascending, rows in the table's order."""

Keep = Callable[[Longs, Longs], npt.NDArray[np.bool_]]
"""Which of (events, places of the rows) belong together indeed."""

BLOCK_ROWS = 1 << 20
"""Rows that are looked at before a condition is asked about them."""
_FEW_ROWS = 1024
_FORGET_MIN = 4096
EVERY = 0
"""The index that has all rows under one key."""


@dataclass(frozen=True, eq=False)
class Journal:
    """What a slice changed (see kernel), where its writes stand, and the most rows there ever were
    at each change."""

    entries: Longs
    order: Order
    peaks: Longs


class Follows(Protocol):
    """The values that decide which rows are written, and how (tables.following)."""

    def load(self, writes: tables.Writes, links: tables.Links) -> None:
        """Looks at the rows that writes may find."""

    def values(self) -> Any:
        """As the kernel takes them, with room for all places that there are."""


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
        found = table[codes]
        for column in columns:
            found[missing(column)] = -1
        return found


def missing(column: Column) -> npt.NDArray[np.bool_]:
    """Where a column has a null or NaN."""
    gone = np.zeros(len(column), np.bool_) if column.nulls is None else column.nulls
    if column.values.dtype.kind == "f":
        gone = gone | np.isnan(column.values)
    return gone


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
        self.links = _links(1)
        self._spare = np.zeros(0, np.int64)
        self.peak_before = 0
        self._order = RowOrder()
        # The next number, the rows, the most there ever were.
        self._counts = np.zeros(3, np.int64)
        if primary:
            self.index(primary)

    def __len__(self) -> int:
        return int(self._counts[1])

    @property
    def numbers(self) -> Longs:
        """The rows' numbers by place: the order of arrival."""
        return self.held.extra(0)

    def index(self, attributes: tuple[int, ...]) -> Index:
        """The index over these attributes, which is made if there is none; before rows come."""
        if not attributes:
            return self.indexes[EVERY]
        for each in self.indexes:
            if each.attributes == attributes:
                return each
        self.indexes.append(Index(len(self.indexes), attributes))
        self.links = _links(len(self.indexes))
        return self.indexes[-1]

    @property
    def primary_index(self) -> int:
        """The number of the primary key's index, -1 without a key."""
        return self.index(self.primary).number if self.primary else -1

    def check(self, columns: Sequence[Column | None]) -> None:
        """Unfit for nulls and NaN where the reference refuses them, or takes them for a text; None
        for what stays."""
        for attribute in self.not_null:
            column = columns[attribute]
            if column is not None and missing(column).any():
                raise Unfit(f"a null in {self.schema.names[attribute]}, a key or index of a table")

    # --- writing ---------------------------------------------------------------------------------

    def write(self, writes: tables.Writes, order: Order, followed: Follows) -> int:
        """Makes writes in order: `journal` tells what they are. The values of rows are those that
        are `followed`. Gives how many were refused."""
        self._make_room()
        followed.load(writes, self.links)
        entries, counts = np.zeros((len(order) + 64, 3), np.int64), np.zeros(3, np.int64)
        spare, done = np.zeros(0, np.int64), 0
        while True:
            wanted = len(entries) - len(spare)
            spare = np.concatenate([spare, self.new_places(wanted)])
            values, room = followed.values(), (spare, entries, counts)
            done = tables.write(writes, self.links, values, self.primary_index, done, *room)
            if done == len(order):
                break
            entries = np.concatenate([entries, np.zeros((len(entries) + len(self), 3), np.int64)])
        self._spare = spare[counts[1] :]
        self._keep(entries[: counts[0]].copy(), order)
        return int(counts[2])

    def follow(self, entries: Longs, keys: Longs, order: Order) -> None:
        """Takes over what was changed elsewhere; `keys` are those of new rows by index."""
        self._make_room()
        tables.follow(entries, plain(keys, np.int64), self.links)
        self._keep(entries, order)

    def _keep(self, entries: Longs, order: Order) -> None:
        peaks = np.zeros(len(entries), np.int64)
        tables.number_rows(entries, self.numbers, self._counts, peaks)
        self.journal = Journal(entries, order, peaks)

    def new_places(self, count: int) -> Longs:
        """Places for rows that come."""
        places = self.held.take(count)
        self._make_room()
        return places

    def _make_room(self) -> None:
        keys = max(1, *(len(index.keys) for index in self.indexes))
        places = len(self.held.times)
        links = self.links
        if links.head.shape[1] < keys or links.after.shape[1] < places:
            self.links = tables.Links(
                *(_wider(each, keys) for each in links[:2]),
                *(_wider(each, places) for each in links[2:]),
            )

    # --- reading ---------------------------------------------------------------------------------

    def writes_before(self, order: Order) -> Longs:
        """How many of the slice's writes are done at places of the run."""
        if self.journal is None:
            return np.zeros(len(order), np.int64)
        return counts_before(self.journal.order, order)

    def read(self, index: Index, wanted: Ids, before: Longs, keep: Keep | None) -> Found:
        """The rows that each of some reads finds: those with the wanted key of the index when so
        many writes were done."""
        if self.journal is None and index.number == self.primary_index:
            self._make_room()
            return _one_each(self.links.head[index.number], wanted, keep)
        if (np.diff(before) < 0).any():
            arranged = np.argsort(before, kind="stable")
            own, places = self.read(
                index, wanted[arranged], before[arranged], _moved(keep, arranged)
            )
            reads = arranged[own]
            back = np.argsort(reads, kind="stable")
            return reads[back], places[back]
        journal = self.journal
        entries = np.zeros((0, 3), np.int64) if journal is None else journal.entries
        self._make_room()
        parts: list[Found] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        asked, when = plain(wanted, np.int64), plain(before, np.int64)
        room, end = min(max(len(wanted), _FEW_ROWS), BLOCK_ROWS), len(wanted)
        while end:
            answers = tables.Answers(np.empty(room, np.int64), np.empty(room, np.int64))
            found, end, over = tables.read(
                index.number, asked, when, end, entries, self.links, allowed(1), answers
            )
            if over:
                raise Suspected("an event finds too many rows of a table")
            # A read alone may find more than a block.
            room = min(2 * room, BLOCK_ROWS) if found else 2 * room
            reads, places = (rows[:found][::-1].copy() for rows in answers)
            if keep is not None and len(reads):
                kept = keep(reads, places)
                reads, places = reads[kept], places[kept]
            parts.append((reads, places))
        reads, places = (np.concatenate(each[::-1]) for each in zip(*parts, strict=True))
        return self._order.arranged(self, reads, places, when)

    def settle(self) -> None:
        """The slice is done: old versions of rows may be forgotten."""
        journal, self.journal = self.journal, None
        self.peak_before = int(self._counts[2])
        if journal is None:
            return
        old = journal.entries[:, 1]
        self.held.places.give_back(np.concatenate([old[old >= 0], self._spare]))
        self._spare = np.zeros(0, np.int64)
        for index in self.indexes[1:]:
            self._forget_keys(index)

    def _forget_keys(self, index: Index) -> None:
        count = len(index.keys)
        heads = self.links.head[index.number]
        live = heads[:count] != -1
        if count <= _FORGET_MIN or 2 * int(live.sum()) >= count:
            return
        moved = index.keys.compact(live)
        kept = np.flatnonzero(live)
        for ends in (heads, self.links.tail[index.number]):
            ends[: len(kept)] = ends[kept]
            ends[len(kept) :] = -1
        keys = self.links.key[index.number]
        places = tables.chain(EVERY, 0, self.links)
        keys[places] = moved[keys[places]]
        if index.attributes == self.primary:
            self._order.forget(kept)

    # --- state -----------------------------------------------------------------------------------

    def places(self, index: int = EVERY, key: int = 0) -> Longs:
        """The rows in order of arrival; or those with a key of an index, none for one that is not
        known (-1)."""
        if key < 0:
            return np.zeros(0, np.int64)
        found: Longs = tables.chain(index, key, self.links)
        return found

    def store(self, places: Longs | None = None) -> Any:
        """As the reference's table has it: the most rows there ever were, rows in order; of some
        places alone where they are given."""
        places = self.places() if places is None else places
        events = events_of(self.held, places).events()
        return (int(self._counts[2]), [(event.timestamp_ms, event.data) for event in events])

    def load(self, state: Any) -> None:
        peak, rows = state
        events = [StreamEvent(time, tuple(data)) for time, data in rows]
        times, columns = columns_of(events, self.schema.types)
        places = self.held.add(columns, times, [np.zeros(len(times), np.int64)])
        if len(times):
            writes = np.arange(len(times), dtype=np.int64)
            entries = np.stack([writes, np.full(len(times), -1, np.int64), places], axis=1)
            keys = self.keys_of(columns, len(times))
            self.follow(entries, keys, Order(writes))
        self._counts[2] = self.peak_before = peak
        self.journal = None

    def keys_of(self, columns: Sequence[Column], count: int) -> Longs:
        """The keys of rows, by index."""
        keys = np.zeros((len(self.indexes), count), np.int64)
        for index in self.indexes[1:]:
            keys[index.number] = index.ids([columns[i] for i in index.attributes], create=True)
        return keys


class RowOrder:
    """The order of a table's rows: a list's by number, a keyed table's by value or as Java's maps
    have it."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.int64)

    def arranged(self, table: TableStore, reads: Longs, places: Longs, before: Longs) -> Found:
        """The rows of each read in the order that they had when so many writes were done."""
        if len(reads) < 2 or not (np.diff(reads) == 0).any():
            return reads, places
        numbers = table.numbers[places]
        if not table.primary:
            if not ((np.diff(numbers) < 0) & (np.diff(reads) == 0)).any():
                return reads, places
            keys: list[Any] = [numbers]
        elif table.is_sorted:
            keys = [table.held.column(table.primary[0], places).values]
        else:
            keys = [numbers, self._buckets(table, places, before[reads])]
        arranged = np.lexsort([*keys, reads])
        return reads[arranged], places[arranged]

    def _buckets(self, table: TableStore, places: Longs, before: Longs) -> Longs:
        """Where Java's map has rows, when it was as large as when the read took place."""
        index = table.index(table.primary)
        known = len(self._hashes)
        if known < len(index.keys):
            new: list[Any] = index.keys.keys[known:]
            hashes = [key_hash(key if isinstance(key, tuple) else (key,)) for key in new]
            self._hashes = np.concatenate([self._hashes, np.array(hashes, np.int64)])
        peaks, number = np.unique(_peaks(table, before), return_inverse=True)
        masks = np.array([bucket_mask(peak) for peak in peaks.tolist()], np.int64)[number]
        buckets: Longs = self._hashes[table.links.key[index.number, places]] & masks
        return buckets

    def forget(self, kept: Longs) -> None:
        """Only these keys of the primary index are left."""
        self._hashes = self._hashes[kept[kept < len(self._hashes)]]


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


def _links(indexes: int) -> tables.Links:
    ends = (np.full((indexes, 1), -1, np.int64) for _ in range(2))
    rows = (np.full((indexes, 0), -1, np.int64) for _ in range(3))
    return tables.Links(*ends, *rows)


def _wider(values: Any, width: int) -> Any:
    """Rows of at least that width; what is new is -1."""
    if values.shape[1] >= width:
        return values
    wider = len(grown(values[0], width))
    found = np.full((len(values), wider), -1, np.int64)
    found[:, : values.shape[1]] = values
    return found


def _one_each(heads: Longs, wanted: Ids, keep: Keep | None) -> Found:
    """What reads find under a key that no two rows share, while nobody writes."""
    places = np.where(wanted < 0, -1, heads[wanted])
    reads = np.flatnonzero(places >= 0)
    places = places[reads]
    if keep is None or not len(reads):
        return reads, places
    kept = keep(reads, places)
    return reads[kept], places[kept]
