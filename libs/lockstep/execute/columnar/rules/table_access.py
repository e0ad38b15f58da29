"""Keyed tables: queries that write them by key, and streams that are joined with them by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.execute.columnar.expressions import Compiler, NotLowerable
from lockstep.execute.columnar.flow import CURRENT
from lockstep.execute.columnar.kernels import tables as operations
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.streams import check_stream, check_target, filters_of
from lockstep.execute.columnar.selector import SelectorOperator, wanted_kind
from lockstep.execute.columnar.table_join import TableJoin
from lockstep.execute.columnar.tables import TableStore, TableUnit, Writer
from lockstep.execute.columnar.units import Unit
from lockstep.operators.tables.conditions import equalities
from lockstep.plan import AppPlan, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery, SourceKind

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
        return Writer(operations.INSERT, tuple(range(len(table.schema.names))))
    if isinstance(action, ast.DeleteFrom):
        return Writer(operations.DELETE, _key_places(query, table, action.on))
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert)
    if action.set is not None:
        raise NotLowerable("an update with set")
    places = [query.output.index_of(name) for name in table.schema.names]
    if None in places:
        raise NotLowerable("an update of some of the attributes")
    by_key = _key_places(query, table, action.on)
    if by_key != tuple(places[i] for i in table.primary):
        raise NotLowerable("an update that may change the primary key")
    kind = operations.UPSERT if isinstance(action, ast.UpdateOrInsert) else operations.UPDATE
    return Writer(kind, tuple(p for p in places if p is not None))


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
