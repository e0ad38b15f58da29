"""Tables at run time: insert, update and delete as atomic steps, seen at once (semantics 10).

Listeners hear of every change as rows that came or went, so that a table with a store becomes
rows of the output log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from lockstep.events import Operation, StreamSchema
from lockstep.operators.contract import Context, PlainState
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope, row_scope
from lockstep.tables.meaning.conditions import Match
from lockstep.tables.meaning.find import Finder
from lockstep.tables.meaning.hash_index import Row
from lockstep.tables.meaning.row_store import Key, RowStore, undone_on_error
from lockstep.telemetry import get_logger

ChangeListener = Callable[[Operation, tuple[Any, ...]], None]
"""Hears the values of each row: as they are after UPSERT, or as they were before DELETE."""

Changes = list[tuple[Row, tuple[Any, ...]]]
"""Rows with the values they are to take."""

_log = get_logger(part="tables")


class Table:
    """One table. `primary` and `indexed` are attribute positions; without `primary` a list."""

    def __init__(
        self, schema: StreamSchema, primary: tuple[int, ...] = (), indexed: tuple[int, ...] = ()
    ) -> None:
        self.schema = schema
        self.rows = RowStore(schema, primary, indexed)
        self.indexed = indexed
        self._not_null = (*indexed, *(primary if self.rows.is_sorted else ()))
        self._listeners: list[ChangeListener] = []

    def __len__(self) -> int:
        return len(self.rows)

    def listen(self, listener: ChangeListener) -> None:
        """Adds a listener; it does not hear of a restore."""
        self._listeners.append(listener)

    def content(self) -> list[Row]:
        """All rows in the table's order."""
        return self.rows.content()

    def finder(self, match: Match, *, may_index: bool = True) -> Finder:
        """What finds the rows of a condition; `may_index` false if it is used only once."""
        return Finder(self.rows, match, may_index)

    def membership(
        self, condition: ast.Expression, scope: Scope, context: Context
    ) -> Callable[[Any], bool]:
        """`condition in Table` as a test of an event of the scope's shape: whether some row makes
        the condition true."""
        match = Match(condition, row_scope(scope, self.schema), len(scope.sources), context)
        return self.finder(match).contains

    def insert(self, timestamp_ms: int, data: tuple[Any, ...]) -> bool:
        """Adds a row. False when its primary key is taken: the row is dropped and logged.

        Raises EventError for a null in an index or a numeric primary key.
        """
        self._check_nulls(data)
        if self.rows.primary and self.rows.has_key(self.rows.key(data)):
            self._refuse("a row was dropped: its primary key is taken", data)
            return False
        self._tell(Operation.UPSERT, self.rows.add(timestamp_ms, data))
        return True

    def delete(self, rows: Iterable[Row]) -> int:
        """Removes rows that a finder gave; how many."""
        count = 0
        for row in rows:
            self.rows.remove(row)
            self._tell(Operation.DELETE, row)
            count += 1
        return count

    def update(self, changes: Changes, timestamp_ms: int) -> bool:
        """Gives rows new values, all or none. False (and logged) when a primary key is taken."""
        for _, data in changes:
            self._check_nulls(data)
        store = self.rows
        moved: Changes = []
        if store.primary:
            moved = [(row, data) for row, data in changes if store.key(row.data) != store.key(data)]
            if moved and not self._fits(moved):
                self._refuse("an update was dropped: its primary key is taken", moved[0][1])
                return False
        gone = {row.number for row, _ in moved}
        for row, data in changes:
            if row.number not in gone:
                self._overwrite(row, data, timestamp_ms)
        self.delete(row for row, _ in moved)
        for _, data in moved:
            self._tell(Operation.UPSERT, store.add(timestamp_ms, data))
        return True

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """What actions change within the block stands as a whole, or not at all when it raises;
        listeners hear of it at the end."""
        listeners, heard = self._listeners, list[tuple[Operation, tuple[Any, ...]]]()
        self._listeners = [lambda operation, data: heard.append((operation, data))]
        try:
            with undone_on_error(self.rows):
                yield
        finally:
            self._listeners = listeners
        for operation, data in heard:
            for listener in listeners:
                listener(operation, data)

    def _overwrite(self, row: Row, data: tuple[Any, ...], timestamp_ms: int) -> None:
        new = self.rows.replace(row, data, timestamp_ms)
        if not self.rows.primary:
            # Nothing but its values tells a destination which row of a list is meant.
            self._tell(Operation.DELETE, row)
        self._tell(Operation.UPSERT, new)

    def _fits(self, moved: Changes) -> bool:
        """Whether the new keys are free once the old ones are gone."""
        freed = {self.rows.key(row.data) for row, _ in moved}
        taken: set[Key] = set()
        for _, data in moved:
            key = self.rows.key(data)
            if key in taken or (self.rows.has_key(key) and key not in freed):
                return False
            taken.add(key)
        return True

    def _check_nulls(self, data: tuple[Any, ...]) -> None:
        for position in self._not_null:
            if data[position] is None:
                name = self.schema.names[position]
                raise EventError(
                    f"{name} is indexed in table {self.schema.name} and cannot be null"
                )

    def _refuse(self, what: str, data: tuple[Any, ...]) -> None:
        _log.error(what, table=self.schema.name, key=self.rows.key(data))

    def _tell(self, operation: Operation, row: Row) -> None:
        for listener in self._listeners:
            listener(operation, row.data)

    def snapshot(self) -> PlainState:
        """The rows in order of arrival."""
        return self.rows.snapshot()

    def restore(self, state: PlainState) -> None:
        self.rows.restore(state)
