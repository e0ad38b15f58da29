"""A table as a unit: all writes of a slice in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks, joined_orders, spread
from lockstep.columns.keys import Ids
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order, merged
from lockstep.columns.output import Output
from lockstep.columns.units import States
from lockstep.events import Operation
from lockstep.plan import QueryNode
from lockstep.tables import kernel as tables
from lockstep.tables.store import TableStore, Writer, key_ids
from lockstep.tables.writers import writer_of

Longs = npt.NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


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

    def add_writer(self, node: QueryNode) -> str:
        name = f"{self.table}<-{node.name}"
        self.writers[name] = writer_of(node.query, self.state)
        return name

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
        self.state.settle()

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        states.operators[f"table/{self.table}/rows"] = self.state.store()

    def load(self, states: States) -> None:
        self.state.load(states.operators[f"table/{self.table}/rows"])

    def text_columns(self) -> list[Any]:
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
        if self._held is not None:
            states.operators[f"table/{self.table}/rows"] = self._held

    def load(self, states: States) -> None:
        self._held = states.operators[f"table/{self.table}/rows"]

    def text_columns(self) -> list[Any]:
        return []
