"""Tables with a primary key, on columns: all writes of a slice in order, reads at their moments.

Within a slice old versions of rows stay readable, so queries that read a table look at what it was
when their event came, although the writes of the whole slice are done first. That is exact as long
as no query that writes depends on one that reads; then the units have no order and the app stays on
the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import grown
from lockstep.columns.chunks import Chunks, joined_orders, spread
from lockstep.columns.column import Column, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order, counts_before, merged
from lockstep.columns.output import Output
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.columns.units import States
from lockstep.events import Operation, StreamSchema
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
        """See `store`."""
        self._peak_rows, rows = state
        from lockstep.operators.contract import StreamEvent

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


class TableUnit:
    """A table as a unit: it takes what the writing queries put out (under a name for each) and
    gives its changes."""

    shows_timers = False
    is_observed = False
    place = 0

    def __init__(self, name: str, store: TableStore, *, is_stored: bool) -> None:
        self.name = f"table {name}"
        self.table = name
        self.writes = name
        self.state = store
        self.writers: dict[str, Writer] = {}
        self._is_stored = is_stored

    @property
    def reads(self) -> tuple[str, ...]:
        """The names under which queries write."""
        return tuple(self.writers)

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        """Applies the writes of the slice."""
        parts = [(self.writers[name], chunks) for name, chunks in inputs.items()]
        arranged = merged([chunks.order for _, chunks in parts])
        lengths = np.concatenate([np.diff(chunks.starts) for _, chunks in parts])
        starts = np.append(0, np.cumsum(lengths))
        index, _ = spread(starts, arranged)
        kind = np.concatenate([np.full(len(c), writer.kind, np.int64) for writer, c in parts])
        key = np.concatenate([self._keys(writer, chunks) for writer, chunks in parts])
        place = np.concatenate([self._places(writer, chunks) for writer, chunks in parts])
        order = joined_orders([chunks.order.take(chunks.chunk_of) for _, chunks in parts])
        now = np.concatenate([chunks.per_event(chunks.now) for _, chunks in parts])
        kind, place, order = kind[index], place[index], order.take(index)
        previous = self.state.write(kind, key[index], place, order)
        for attribute in range(len(self.state.schema.names)):
            keeps = [np.full(len(c), w.keeps_attribute(attribute)) for w, c in parts]
            self.state.keep(attribute, np.concatenate(keeps)[index], place, previous)
        return self._changes(kind, place, previous, order, now[index])

    def _keys(self, writer: Writer, chunks: Chunks) -> Ids:
        columns = [chunks.columns[i] for i in writer.key]
        return key_ids(self.state.keys, columns, create=True)

    def _places(self, writer: Writer, chunks: Chunks) -> Longs:
        if writer.kind == tables.DELETE:
            return np.full(len(chunks), -1, np.int64)
        nowhere = np.full(len(chunks), -1, np.int64)
        columns = [
            self.state.held.column(i, nowhere) if place is None else chunks.columns[place]
            for i, place in enumerate(writer.places)
        ]
        return self.state.held.add(columns, chunks.times)

    def _changes(
        self, kind: Longs, place: Longs, previous: Longs, order: Order, now: Longs
    ) -> Output:
        """What a destination of the table has to be told, a chunk per row."""
        index = np.flatnonzero(previous != tables.NOTHING) if self._is_stored else _NONE
        gone = kind[index] == tables.DELETE
        shown = np.where(gone, previous[index], place[index])
        starts = np.arange(len(index) + 1, dtype=np.int64)
        columns = self.state.held.columns(shown)
        chunks = Chunks(columns, now[index], starts, order.take(index), now[index])
        operations = np.where(gone, Operation.DELETE, Operation.UPSERT).astype(np.int8)
        return Output(chunks, None, operations)

    def settle(self) -> None:
        """See Unit."""
        self.state.settle()

    def due_ms(self) -> int | None:
        """See Unit."""
        return None

    def store(self, states: States) -> None:
        """See Unit."""
        states.operators[f"table/{self.table}/rows"] = self.state.store()

    def load(self, states: States) -> None:
        """See Unit."""
        self.state.load(states.operators[f"table/{self.table}/rows"])

    def text_columns(self) -> list[Any]:
        """See Unit."""
        return self.state.held.text_columns()


class PassiveTable(TableUnit):
    """A table that no query touches: on-demand queries may, and they run on the reference's
    form."""

    def __init__(self, name: str) -> None:
        self.name = f"table {name}"
        self.table = name
        self.writes = name
        self.writers = {}
        self._held: Any = None

    def settle(self) -> None:
        """Nothing to forget."""

    def store(self, states: States) -> None:
        """See Unit."""
        if self._held is not None:
            states.operators[f"table/{self.table}/rows"] = self._held

    def load(self, states: States) -> None:
        """See Unit."""
        self._held = states.operators[f"table/{self.table}/rows"]

    def text_columns(self) -> list[Any]:
        """See Unit."""
        return []
