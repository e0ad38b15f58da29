"""Tables: queries that write them, and streams that are joined with them."""

from __future__ import annotations

from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.plan import AppPlan, QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, SourceKind
from lockstep.streams.lowering import check_stream, filters_of, target_of
from lockstep.tables.columns import TableUnit
from lockstep.tables.join import TableJoin
from lockstep.tables.lookup import Lookup

OUTER_LEFT = (ast.JoinType.LEFT_OUTER, ast.JoinType.FULL_OUTER)
OUTER_RIGHT = (ast.JoinType.RIGHT_OUTER, ast.JoinType.FULL_OUTER)


def table_units(plan: AppPlan, site: Site) -> dict[str, TableUnit | str]:
    """Each table's unit, or why it has no columnar form."""
    found: dict[str, TableUnit | str] = {}
    for name, definition in plan.checked.tables.items():
        schema = plan.checked.schemas[name]
        if any(type_.value == "object" for type_ in schema.types):
            found[name] = f"table {name} has an attribute of type object"
        else:
            is_stored = name in plan.stored
            found[name] = TableUnit(definition, schema, site.pool, is_stored=is_stored)
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
    old = site.is_siddhi_5_1
    selector = SelectorOperator(node.query, in_order=False, orders=True, is_siddhi_5_1=old)
    unit = site.table(table_side.input.source)
    assert isinstance(unit, TableUnit)
    before, keeps = filters_of(stream), filters_of(table_side)
    lookup = Lookup(join.input.on, join.scope, table_slot, unit.state, keeps)
    outer = OUTER_LEFT if table_slot else OUTER_RIGHT
    return TableJoin(
        node,
        target_of(node, site),
        site.place,
        site.stream(stream.input.source),
        1 - table_slot,
        unit.state,
        before,
        lookup,
        selector,
        site.realms,
        is_outer=join.input.type in outer,
    )


TABLE_JOIN = Rule("table join", _lower)
