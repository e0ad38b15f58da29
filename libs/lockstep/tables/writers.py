"""Queries that write a table by its primary key."""

from __future__ import annotations

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable
from lockstep.selection.columns import wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.tables import kernel as operations
from lockstep.tables.meaning.conditions import equalities
from lockstep.tables.store import TableStore, Writer


def writer_of(query: CheckedQuery, table: TableStore) -> Writer:
    """What a query does to the table; NotLowerable where it does not go by the primary key."""
    if wanted_kind(query.query.action) != CURRENT:
        raise NotLowerable("expired rows written into a table")
    action = query.query.action
    if isinstance(action, ast.InsertInto):
        return Writer(operations.INSERT, table.primary, tuple(range(len(table.schema.names))))
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert | ast.DeleteFrom)
    key = _key_places(query, table, action.on)
    if isinstance(action, ast.DeleteFrom):
        return Writer(operations.DELETE, key)
    values = _set_places(query, table)
    inserted = _insert_places(query, table)
    for attribute, type_ in enumerate(table.schema.types):
        for place in (values[attribute], inserted[attribute]):
            if place is not None and query.output.types[place] is not type_:
                raise NotLowerable("an update with values of another type")
    for attribute, place in zip(table.primary, key, strict=True):
        if values[attribute] not in (None, place):
            raise NotLowerable("an update that may change the primary key")
    keeps = tuple(value is None for value in values)
    if isinstance(action, ast.UpdateTable):
        return Writer(operations.UPDATE, key, tuple(values), keeps)
    if tuple(inserted[attribute] for attribute in table.primary) != key:
        raise NotLowerable("an insert of another primary key than was looked for")
    if any(value not in (None, new) for value, new in zip(values, inserted, strict=True)):
        raise NotLowerable("an update that sets other values than it inserts")
    return Writer(operations.UPSERT, key, tuple(inserted), keeps)


def _set_places(query: CheckedQuery, table: TableStore) -> list[int | None]:
    """For each attribute of the table, where the output has what an update gives it; None: it
    stays (tables.meaning.actions)."""
    action = query.query.action
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert)
    if action.set is None:
        return [query.output.index_of(name) for name in table.schema.names]
    places: list[int | None] = [None] * len(table.schema.names)
    assert query.action_scope is not None
    for item in action.set:
        attribute = table.schema.index_of(item.attribute.name)
        assert attribute is not None
        if not isinstance(item.value, ast.Variable):
            raise NotLowerable("a set that is computed")
        ref = query.action_scope.resolve(item.value)
        if ref.slot != 0 or ref.type is not table.schema.types[attribute]:
            raise NotLowerable("a set of the table's own values, or of another type")
        places[attribute] = ref.attribute
    return places


def _insert_places(query: CheckedQuery, table: TableStore) -> list[int | None]:
    """For each attribute of a row that is inserted, where the output has it; None: null."""
    places = [query.output.index_of(name) for name in table.schema.names]
    if len(query.output.names) == len(places) and None in places:
        return list(range(len(places)))
    return places


def _key_places(
    query: CheckedQuery, table: TableStore, on: ast.Expression | None
) -> tuple[int, ...]:
    """Which outputs are compared with the primary key, if that is the whole condition."""
    assert query.action_scope is not None
    found, exact = equalities(on, query.action_scope, 1)
    values = {equality.attribute: equality.value for equality in found}
    if not exact or set(values) != set(table.primary):
        raise NotLowerable("a condition that is not exactly the primary key")
    places = []
    for attribute in table.primary:
        value = values[attribute]
        if not isinstance(value, ast.Variable):
            raise NotLowerable("a key that is computed")
        ref = query.action_scope.resolve(value)
        if ref.type is not table.schema.types[attribute]:
            raise NotLowerable("a key of another type")
        places.append(ref.attribute)
    return tuple(places)
