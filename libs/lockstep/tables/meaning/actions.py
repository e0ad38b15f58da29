"""What a query's rows do to a table: insert, delete, update, update or insert (semantics 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lockstep.events import StreamSchema
from lockstep.operators.contract import CURRENT, EXPIRED, Context, JoinedEvent, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.failing import Failures
from lockstep.selection.meaning import Row as SelectedRow
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.scope import Scope
from lockstep.tables.meaning.conditions import Match
from lockstep.tables.meaning.hash_index import Row
from lockstep.tables.meaning.table import Changes, Table

Setter = Callable[[StreamEvent, Row], tuple[Any, ...]]
"""(event, row) → the row's new values."""


class TableAction(Protocol):
    """Takes a query's rows in order; each is finished before the next is looked at."""

    def process(self, chunk: list[StreamEvent]) -> None:
        """Applies the rows of the wanted kinds."""


class Insert:
    """Appends the events."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def apply(self, event: StreamEvent) -> int:
        """One event; how many rows it changed."""
        return int(self._table.insert(event.timestamp_ms, event.data))


class Delete:
    """Removes what matches the events."""

    def __init__(self, table: Table, match: Match, *, may_index: bool = True) -> None:
        self._table = table
        self._find = table.finder(match, may_index=may_index).find

    def apply(self, event: StreamEvent) -> int:
        """One event; how many rows it changed."""
        return self._table.delete(self._find(event))


class Update:
    """Changes what matches the events; `arrange` makes a row of an event that matched nothing."""

    def __init__(
        self,
        table: Table,
        match: Match,
        setter: Setter,
        arrange: Callable[[StreamEvent], tuple[Any, ...]] | None = None,
        *,
        may_index: bool = True,
    ) -> None:
        self._table = table
        self._find = table.finder(match, may_index=may_index).find
        self.setter = setter
        self.arrange = arrange

    def apply(self, event: StreamEvent) -> int:
        """One event; how many rows it changed."""
        changes: Changes = [(row, self.setter(event, row)) for row in self._find(event)]
        if changes:
            return len(changes) if self._table.update(changes, event.timestamp_ms) else 0
        if self.arrange is None:
            return 0
        return int(self._table.insert(event.timestamp_ms, self.arrange(event)))


class ChunkAction:
    """Applies one of the above to the events of the wanted kinds.

    One that fails keeps no other from acting. What failed is raised at the end: if `names_rows`, as
    PartsFailedError, which names the events that brought the rows; else the first error as it is.
    """

    def __init__(
        self, action: Insert | Delete | Update, kinds: frozenset[int], *, names_rows: bool
    ) -> None:
        self.action = action
        self._kinds = kinds
        self._names_rows = names_rows

    def process(self, chunk: list[StreamEvent]) -> None:
        kinds, apply = self._kinds, self.action.apply
        failures: Failures | None = None
        for event in chunk:
            if event.kind in kinds:
                try:
                    apply(event)
                except PROCESSING_ERRORS as error:
                    failures = Failures() if failures is None else failures
                    brought_by = event.origin if isinstance(event, SelectedRow) else event
                    failures.add([brought_by], error)
        if failures is not None:
            if self._names_rows:
                failures.check()
            raise failures.parts[0][1]


def _has_row_per_event(query: CheckedQuery) -> bool:
    """Whether what a row fails of can be said of the event that brought it: of events that come
    as they are, and not of a window or a function that may have held them."""
    stream = query.input
    if not isinstance(stream, CheckedStream) or stream.kind is SourceKind.WINDOW:
        return False
    if query.query.rate is not None:
        return False
    return all(isinstance(one, ast.Filter) for one in stream.input.handlers)


def _kinds(query: ast.Query) -> frozenset[int]:
    """The kinds that act: by default current events, under a snapshot rate all (semantics 14.3)."""
    rate = query.rate
    if query.action.events is ast.EventSelection.ALL:
        return frozenset({CURRENT, EXPIRED})
    if rate is not None and rate.kind is ast.RateKind.SNAPSHOT:
        return frozenset({CURRENT, EXPIRED})
    is_expired = query.action.events is ast.EventSelection.EXPIRED
    return frozenset({EXPIRED if is_expired else CURRENT})


def by_name(output: StreamSchema, table: StreamSchema) -> Setter:
    """Without `set`: the attributes that the output has by name overwrite the row's."""
    positions = [output.index_of(name) for name in table.names]

    def set_values(event: StreamEvent, row: Row) -> tuple[Any, ...]:
        new, old = event.data, row.data
        return tuple(old[i] if p is None else new[p] for i, p in enumerate(positions))

    return set_values


def by_items(
    items: tuple[ast.SetItem, ...], scope: Scope, table: StreamSchema, context: Context
) -> Setter:
    """`set`: right sides are computed on (event, row as it was)."""
    values: dict[int, Callable[[Any], Any]] = {}
    for item in items:
        position = table.index_of(item.attribute.name)
        assert position is not None
        values[position] = context.compile(item.value, scope)

    def set_values(event: StreamEvent, row: Row) -> tuple[Any, ...]:
        pair = JoinedEvent(event.timestamp_ms, event, row, event.kind)
        new = list(row.data)
        for position, value in values.items():
            new[position] = value(pair)
        return tuple(new)

    return set_values


def arranger(output: StreamSchema, table: StreamSchema) -> Callable[[StreamEvent], tuple[Any, ...]]:
    """Makes a table row of an output row: by name, or by place when the names differ."""
    positions = [output.index_of(name) for name in table.names]
    if len(output.names) == len(table.names) and None in positions:
        return lambda event: event.data
    return lambda event: tuple(None if p is None else event.data[p] for p in positions)


def make_action(
    action: ast.Action,
    output: StreamSchema,
    scope: Scope | None,
    table: Table,
    context: Context,
    *,
    may_index: bool = True,
) -> Insert | Delete | Update:
    """The action on its table. `scope` is JOINED: slot 0 the output row, slot 1 the table's row."""
    if isinstance(action, ast.InsertInto):
        return Insert(table)
    assert isinstance(action, ast.DeleteFrom | ast.UpdateTable | ast.UpdateOrInsert)
    assert scope is not None
    match = Match(action.on, scope, 1, context)
    if isinstance(action, ast.DeleteFrom):
        return Delete(table, match, may_index=may_index)
    if action.set is None:
        setter = by_name(output, table.schema)
    else:
        setter = by_items(action.set, scope, table.schema, context)
    arrange = arranger(output, table.schema) if isinstance(action, ast.UpdateOrInsert) else None
    return Update(table, match, setter, arrange, may_index=may_index)


def build_action(query: CheckedQuery, context: Context) -> TableAction:
    """The action of a query whose target is a table."""
    action = query.query.action
    table: Table = context.table(query.output.name)
    made = make_action(action, query.output, query.action_scope, table, context)
    return ChunkAction(made, _kinds(query.query), names_rows=_has_row_per_event(query))
