"""A table as a unit: all writes of a slice in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks, joined_orders, lengths_of, spread
from lockstep.columns.column import Column, Mask, from_values
from lockstep.columns.frame import Frame
from lockstep.columns.merging import merged
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import States
from lockstep.events import Operation, StreamSchema
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.siddhiql.scope import Scope, row_scope
from lockstep.tables import kernel as tables
from lockstep.tables.chains import Heads
from lockstep.tables.following import Followed, Layout
from lockstep.tables.keyed_kernel import KeyedWrites
from lockstep.tables.lookup import Lookup
from lockstep.tables.one_by_one import OneByOne, take_over
from lockstep.tables.rows import Rows
from lockstep.tables.store import TableStore
from lockstep.tables.values import fill, keyed_writes, writes_of
from lockstep.tables.writers import Writer, action_of, keeps, keeps_up, writer_of
from lockstep.tables.writing import write, write_by_key
from lockstep.telemetry import get_logger

Longs = npt.NDArray[np.int64]
_log = get_logger(part="tables")
_WITH_KEY = 2
"""Indexes of a table with a primary key and no others."""


@dataclass(frozen=True, eq=False)
class Arrived:
    """The rows that writers brought, one writer's behind the other's. `arranged` brings them in
    order; then `order` and `now` tell where and when each is written."""

    parts: Sequence[tuple[str, Chunks]]
    arranged: Longs
    order: Order
    now: Longs

    @classmethod
    def of(cls, inputs: Mapping[str, Chunks]) -> Arrived:
        """What came under the writers' names."""
        parts = list(inputs.items())
        chunks = [each for _, each in parts]
        if len(chunks) == 1 and chunks[0].is_single and _ascends(chunks[0].order):
            (one,) = chunks
            return cls(parts, np.arange(len(one), dtype=np.int64), one.order, one.now)
        arranged = merged([each.order for each in chunks])
        if all(each.is_single for each in chunks):
            index, orders = arranged, [each.order for each in chunks]
        else:
            lengths = np.concatenate([lengths_of(each.starts) for each in chunks])
            index, _ = spread(np.append(0, np.cumsum(lengths)).astype(np.int64), arranged)
            orders = [each.order.take(each.chunk_of) for each in chunks]
        order = joined_orders(orders)
        now = np.concatenate([each.per_event(each.now) for each in chunks])
        return cls(parts, index, order.take(index), now[index])


class TableUnit:
    """A table as a unit: it takes what the writing queries put out (under a name for each) and
    gives its changes. Writes that look at no more than indexes are made on columns, and all others
    one by one."""

    shows_timers = False
    is_observed = False
    place = 0

    def __init__(
        self,
        definition: ast.TableDefinition,
        schema: StreamSchema,
        pool: StringPool,
        *,
        is_stored: bool,
    ) -> None:
        name = definition.name
        self.name = f"table {name}"
        self.table = name
        self.writes = name
        self._rows = OneByOne(definition, schema)
        primary, indexed = self._rows.table.rows.primary, self._rows.table.indexed
        self.state = TableStore(schema, primary, indexed, pool)
        self.writers: dict[str, Writer | None] = {}
        self.queries: dict[str, CheckedQuery] = {}
        self.is_stored = is_stored
        self._begun = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The names under which queries write."""
        return tuple(self.writers)

    def add_writer(self, node: QueryNode) -> str:
        name = f"{self.table}<-{node.name}"
        self.queries[name] = node.query
        self._rows.actions[name] = action_of(node.query, self._rows.table, self._rows.context)
        try:
            self.writers[name] = writer_of(node.query, self.state)
        except NotLowerable:
            self.writers[name] = None
        return name

    def member(self, asked: ast.InTable, scope: Scope) -> Callable[[Frame], Mask]:
        slot = len(scope.sources)
        found = Lookup(asked.condition, row_scope(scope, self.state.schema), slot, self.state)
        return lambda frame: found.contains(frame, self.state.writes_before(frame.order()))

    @cached_property
    def is_one_by_one(self) -> bool:
        """Whether the reference's actions make the writes. Asked when all queries are lowered."""
        writers = [each for each in self.writers.values() if each is not None]
        several = any(not _finds_one(each, self.state) for each in writers)
        if len(writers) < len(self.writers) or (self.is_stored and several):
            return True
        if not self._layout.is_whole and any(each.test for each in writers):
            return True
        return not all(keeps_up(each, self.state) for each in writers)

    def _begin(self) -> None:
        """All queries are lowered: it is known how rows are found."""
        if self._begun:
            return
        self._begun = True
        primary = self.state.primary
        if primary and len(self.state.indexes) == _WITH_KEY and not self.is_one_by_one:
            writers = [each for each in self.writers.values() if each is not None]
            if all(_finds_one(each, self.state) for each in writers):
                self.state.find_by_key()

    @cached_property
    def _layout(self) -> Layout:
        """Of writers in columns."""
        writers = [each for each in self.writers.values() if each is not None]
        return Layout(writers, len(self.state.schema.names))

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        """Applies the writes of the slice."""
        self._begin()
        arrived = Arrived.of({name: inputs[name] for name in self.writers if name in inputs})
        return self._one_by_one(arrived) if self.is_one_by_one else self._on_columns(arrived)

    # --- on columns ------------------------------------------------------------------------------

    def _on_columns(self, arrived: Arrived) -> Output:
        index, parts = arrived.arranged, arrived.parts
        writers = [(self._writer(name), chunks) for name, chunks in parts]
        rows = Rows(writers, [self._rows.actions[name] for name, _ in parts], index)
        followed = Followed(self._layout, rows, self.state)
        if isinstance(self.state.rows, Heads):
            kinds = np.array([each.kind for each in self._layout.writers], np.int64)
            by_key = KeyedWrites(kinds, *keyed_writes(writers, index, self.state))
            refused = write_by_key(self.state, by_key, arrived.order, followed)
        else:
            found = writes_of(writers, index, self.state)
            refused = write(self.state, found, arrived.order, followed)
        if refused:
            _log.error(
                "rows were dropped: their primary key is taken", table=self.table, rows=refused
            )
        journal = self.state.journal
        assert journal is not None
        fill(self.state, journal.entries, rows, followed)
        return self._told(journal.entries, arrived) if self.is_stored else _nothing(self.state)

    def _writer(self, name: str) -> Writer:
        writer = self.writers[name]
        assert writer is not None
        return writer

    def _told(self, entries: Longs, arrived: Arrived) -> Output:
        """What a destination of the table has to be told, a chunk per row."""
        went, came = entries[:, 1], entries[:, 2]
        gone = came < 0
        both = (went >= 0) & (came >= 0) & (not self.state.primary)
        lines = np.repeat(np.arange(len(entries)), 1 + both)
        first = np.append(True, lines[1:] != lines[:-1])[: len(lines)]
        deletes = gone[lines] | (both[lines] & first)
        shown = np.where(deletes, went[lines], came[lines])
        columns = tuple(
            self.state.column(attribute, shown) for attribute in range(len(self.state.schema.names))
        )
        return _changes(columns, entries[lines, 0], deletes, arrived)

    # --- one by one ------------------------------------------------------------------------------

    def _one_by_one(self, arrived: Arrived) -> Output:
        done = self._rows.run(arrived.parts, arrived.arranged, arrived.now, self.state)
        take_over(done, self.state, arrived.order)
        if not self.is_stored:
            return _nothing(self.state)
        columns = tuple(
            from_values(type_, [data[i] for _, _, data in done.told])
            for i, type_ in enumerate(self.state.schema.types)
        )
        writes = np.array([write for write, _, _ in done.told], np.int64)
        deletes = np.array([each is Operation.DELETE for _, each, _ in done.told], np.bool_)
        return _changes(columns, writes, deletes, arrived)

    # --- state -----------------------------------------------------------------------------------

    def settle(self) -> None:
        self.state.settle()

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        states.operators[f"table/{self.table}/rows"] = self.state.store()

    def load(self, states: States) -> None:
        state = states.operators[f"table/{self.table}/rows"]
        self._begin()
        self.state.load(state)
        if self.is_one_by_one:
            self._rows.load(state, self.state)

    def text_columns(self) -> list[Any]:
        return self.state.held.text_columns()


def _nothing(table: TableStore) -> Output:
    return Output.nothing(table.schema.types)


def _ascends(order: Order) -> bool:
    """Whether each chunk comes in a moment of its own, behind the one in front of it."""
    return bool((order.moments[1:] > order.moments[:-1]).all())


def _finds_one(writer: Writer, table: TableStore) -> bool:
    """Whether a write changes one row at most."""
    by_key = bool(table.primary) and writer.index.attributes == table.primary
    return by_key or writer.kind == tables.INSERT


def can_foretell(table: TableUnit) -> bool:
    """Whether a key finds every row that is written, and programs say all that is."""
    store, writers = table.state, [each for each in table.writers.values() if each is not None]
    if len(writers) < len(table.writers):
        return False
    if not all(each.has_programs and keeps_up(each, store) for each in writers):
        return False
    if not store.primary:
        queries = table.queries.values()
        return not table.is_stored and all(keeps(each, store, store.asked) for each in queries)
    return len(store.indexes) == _WITH_KEY and all(_finds_one(each, store) for each in writers)


def _changes(
    columns: tuple[Column, ...],
    writes: Longs,
    deletes: npt.NDArray[np.bool_],
    arrived: Arrived,
) -> Output:
    """Changes of the rows of some writes, a chunk each; those of one write in their order."""
    starts = np.arange(len(writes) + 1, dtype=np.int64)
    now = arrived.now[writes]
    order = arrived.order.take(writes).below(starts[:-1])
    chunks = Chunks(columns, now, starts, order, now)
    operations = np.where(deletes, Operation.DELETE, Operation.UPSERT).astype(np.int8)
    return Output(chunks, None, operations)


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
