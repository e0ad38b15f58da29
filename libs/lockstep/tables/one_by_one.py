"""A table's rows as the reference keeps them, for writes that look at the rows' values: the
reference's actions take those one by one, and the columns follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Unfit, from_values
from lockstep.columns.order import Order
from lockstep.columns.rule import NotLowerable
from lockstep.events import Operation, StreamSchema, describe
from lockstep.expressions.compiler import compile_condition, compile_expression
from lockstep.functions.columns import Probe
from lockstep.operators import state as encoding
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.tables.meaning import build_table
from lockstep.tables.meaning.row_store import Journal, RowStore, noted
from lockstep.tables.store import TableStore


class RowContext(Probe):
    """What the reference's actions get: expressions of events and rows, and the clock."""

    def __init__(self) -> None:
        self.now = 0

    def now_ms(self) -> int:
        """The app clock at the write that is made."""
        return self.now

    def register(self, name: str, operator: Any) -> None:
        if name != "rows":
            raise NotLowerable(f"a function with state ({name})")

    def compile(self, expression: ast.Expression, scope: Scope) -> Callable[[Any], Any]:
        """See operators.contract.Context."""
        context: Any = self
        return compile_expression(expression, scope, context)

    def compile_condition(self, expression: ast.Expression, scope: Scope) -> Callable[[Any], bool]:
        """See operators.contract.Context."""
        context: Any = self
        return compile_condition(expression, scope, context)


@dataclass(frozen=True, eq=False)
class Done:
    """What a slice's writes changed (see kernel), with the new rows; and each change as the table's
    destination is told it: of which write, what, and the values."""

    entries: Longs
    times: Longs
    columns: tuple[Column, ...]
    told: list[tuple[int, Operation, tuple[Any, ...]]]


class OneByOne:
    """The rows of a table, and the actions of its writers by name."""

    def __init__(self, definition: ast.TableDefinition, schema: StreamSchema) -> None:
        self.context = RowContext()
        context: Any = self.context
        self.table = build_table(definition, schema, context)
        self.actions: dict[str, Any] = {}
        self._places: dict[int, int] = {}
        self._told: list[tuple[int, Operation, tuple[Any, ...]]] = []
        self._write = 0
        self.table.listen(self._hear)

    def _hear(self, operation: Operation, data: tuple[Any, ...]) -> None:
        self._told.append((self._write, operation, data))

    def load(self, state: Any, store: TableStore) -> None:
        """Takes over rows that the columns have, too."""
        self.table.restore(encoding.decode(encoding.encode(state)))
        self._places = places_of(self.table.rows, store)

    def run(
        self, parts: Sequence[tuple[str, Chunks]], arranged: Longs, now: Longs, store: TableStore
    ) -> Done:
        """Makes the writes of the writers' rows, one behind the other, in that order."""
        events: list[StreamEvent] = []
        actions: list[Any] = []
        for name, chunks in parts:
            rows = zip(*(column.to_pylist() for column in chunks.columns), strict=True)
            events += map(StreamEvent, chunks.times.tolist(), rows)
            actions += [self.actions[name]] * len(chunks)
        self._told = []
        ends: list[int] = []
        try:
            with noted(self.table.rows) as journal:
                for write, (at, clock) in enumerate(
                    zip(arranged.tolist(), now.tolist(), strict=True)
                ):
                    self._write, self.context.now = write, clock
                    actions[at].apply(events[at])
                    ends.append(len(journal))
        except PROCESSING_ERRORS as error:
            raise Unfit(f"a table refuses an event: {describe(error)}") from error
        return self._done(journal, ends, store)

    def _done(self, journal: Journal, ends: Sequence[int], store: TableStore) -> Done:
        writes = np.searchsorted(np.array(ends, np.int64), np.arange(len(journal)), "right")
        return done_by(journal, writes.astype(np.int64), self._places, store, self._told)


def places_of(rows: RowStore, store: TableStore) -> dict[int, int]:
    """Where the columns have rows that both have just loaded, by the rows' numbers."""
    numbers = (row.number for row in rows.unordered())
    return dict(zip(numbers, store.places().tolist(), strict=True))


def done_by(
    journal: Journal,
    writes: Longs,
    places: dict[int, int],
    store: TableStore,
    told: list[tuple[int, Operation, tuple[Any, ...]]],
) -> Done:
    """What changes come to; each belongs to one of the `writes`. `places` follows."""
    new = [after for _, after in journal if after is not None]
    coming = iter(store.new_places(len(new)).tolist())
    entries = np.full((len(journal), 3), -1, np.int64)
    entries[:, 0] = writes
    for line, (before, after) in enumerate(journal):
        if before is not None:
            entries[line, 1] = places.pop(before.number)
        if after is not None:
            entries[line, 2] = places[after.number] = next(coming)
    columns = tuple(
        from_values(type_, [row.data[i] for row in new])
        for i, type_ in enumerate(store.schema.types)
    )
    times = np.array([row.timestamp_ms for row in new], np.int64)
    return Done(entries, times, columns, told)


def take_over(done: Done, store: TableStore, order: Order) -> None:
    """Makes the columns follow."""
    entries = done.entries
    came = np.flatnonzero(entries[:, 2] >= 0)
    places = entries[came, 2]
    store.held.times[places] = done.times
    for attribute, column in enumerate(done.columns):
        store.held.put(attribute, places, column)
    keys = np.full((len(store.indexes), len(entries)), -1, np.int64)
    keys[:, came] = store.keys_of(done.columns, len(came))
    store.follow(entries, keys, order)
