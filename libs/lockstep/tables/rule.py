"""Keyed tables: queries that write them by key, and streams that are joined with them by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.columns.expressions import Compiler, NotLowerable
from lockstep.columns.flow import CURRENT
from lockstep.columns.units import Unit
from lockstep.plan import AppPlan, QueryNode
from lockstep.selection.columns import SelectorOperator, wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery, SourceKind
from lockstep.streams.contract import Rule, Site
from lockstep.streams.lowering import check_stream, check_target, filters_of
from lockstep.tables import kernel as operations
from lockstep.tables.columns import TableStore, TableUnit, Writer
from lockstep.tables.join import TableJoin
from lockstep.tables.meaning.conditions import equalities

OUTER_LEFT = (ast.JoinType.LEFT_OUTER, ast.JoinType.FULL_OUTER)
OUTER_RIGHT = (ast.JoinType.RIGHT_OUTER, ast.JoinType.FULL_OUTER)


def table_units(plan: AppPlan, site: Site) -> dict[str, TableUnit | str]:
    """Each table's unit, or why it has no columnar form."""
    found: dict[str, TableUnit | str] = {}
    for name, definition in plan.checked.tables.items():
        schema = plan.checked.schemas[name]
        primary = [a for a in definition.annotations if a.name.lower() == "primarykey"]
        if any(a.name.lower() == "index" for a in definition.annotations):
            found[name] = f"table {name} has a secondary index"
        elif len(primary) != 1:
            found[name] = f"table {name} has no primary key"
        elif any(type_.value == "object" for type_ in schema.types):
            found[name] = f"table {name} has an attribute of type object"
        else:
            places = [schema.index_of(e.value.strip()) for e in primary[0].elements]
            store = TableStore(schema, tuple(p for p in places if p is not None), site.pool)
            found[name] = TableUnit(name, store, is_stored=name in plan.stored)
    return found


def _table(name: str, site: Site) -> TableUnit:
    found = site.tables[name]
    if isinstance(found, str):
        raise NotLowerable(found)
    return found


# --- writing -------------------------------------------------------------------------------------


def add_writer(node: QueryNode, site: Site) -> str:
    """Makes the query a writer of its table; gives the name under which it writes."""
    query = node.query
    unit = _table(query.output.name, site)
    if wanted_kind(query.query.action) != CURRENT:
        raise NotLowerable("expired rows written into a table")
    name = f"{query.output.name}<-{node.name}"
    unit.writers[name] = _writer(query, unit.state)
    return name


def _writer(query: CheckedQuery, table: TableStore) -> Writer:
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


# --- reading -------------------------------------------------------------------------------------


def _lower(node: QueryNode, site: Site) -> Unit | None:
    join = node.query.input
    if not isinstance(join, CheckedJoin):
        return None
    kinds = (join.left.kind, join.right.kind)
    if SourceKind.TABLE not in kinds:
        return None
    if site.realms.is_partition:
        raise NotLowerable("a table join in a partition")
    table_slot = kinds.index(SourceKind.TABLE)
    stream, table_side = (join.left, join.right) if table_slot else (join.right, join.left)
    check_stream(stream)
    check_target(node.query)
    if table_side.handlers:
        raise NotLowerable("a filter on the table's side")
    selector = SelectorOperator(node.query)
    if selector.calls or selector.groups.is_grouped or selector.wanted != CURRENT:
        raise NotLowerable("aggregates, groups or expired rows of a table join")
    unit = _table(table_side.input.source, site)
    key, rest = _lookup(join, table_slot, unit.state)
    outer = OUTER_LEFT if table_slot else OUTER_RIGHT
    return TableJoin(
        node,
        site.place,
        site.stream(stream.input.source),
        1 - table_slot,
        unit.state,
        filters_of(stream),
        key,
        rest,
        selector,
        is_outer=join.input.type in outer,
    )


def _lookup(join: CheckedJoin, table_slot: int, table: TableStore) -> tuple[Any, Any]:
    """(the key's values, what else has to hold)."""
    found, exact = equalities(join.input.on, join.scope, table_slot)
    values = {equality.attribute: equality.value for equality in found}
    if not set(table.primary) <= set(values):
        raise NotLowerable("a condition that does not fix the primary key")
    compiler = Compiler(join.scope)
    key = [compiler.compile(values[attribute]) for attribute in table.primary]
    for attribute in table.primary:
        compiler.type_of(values[attribute])
    rest: Callable[..., Any] | None = None
    if not exact or len(values) > len(table.primary):
        assert join.input.on is not None
        rest = compiler.condition(join.input.on)
    if compiler.may_fail:
        raise NotLowerable("a join condition that calls functions")
    return key, rest


TABLE_JOIN = Rule("table lookup join", _lower)
