"""Keyed tables: queries that write them by key, and streams that are joined with them by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.expressions.columns import Compiler
from lockstep.plan import AppPlan, QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, SourceKind
from lockstep.streams.lowering import check_stream, check_target, filters_of
from lockstep.tables.columns import TableUnit
from lockstep.tables.join import TableJoin
from lockstep.tables.meaning.conditions import equalities
from lockstep.tables.store import TableStore

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
    unit = site.table(table_side.input.source)
    assert isinstance(unit, TableUnit)
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
