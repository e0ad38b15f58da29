"""Tables: queries that write them, and streams that are joined with them."""

from __future__ import annotations

from dataclasses import replace

from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.plan import AppPlan, QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.checked import CheckedJoin, CheckedStream, SourceKind
from lockstep.streams.columns import Condition
from lockstep.streams.lowering import check_stream, filters_of, target_of
from lockstep.streams.partition_timers import check_timers
from lockstep.tables.columns import TableUnit
from lockstep.tables.join import TableJoin
from lockstep.tables.lookup import Lookup
from lockstep.windows.contract import ColumnarCall, ColumnarWindow, Setup, columnar_window

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
    table_slot = kinds.index(SourceKind.TABLE)
    stream, table_side = (join.left, join.right) if table_slot else (join.right, join.left)
    check_stream(stream)
    unit = site.table(table_side.input.source)
    assert isinstance(unit, TableUnit)
    before, window = _handlers(stream, 1 - table_slot, site)
    if window is not None and window[1].shows_timers:
        check_timers(node, site)
    # The table may change while an event is in the window.
    selector = SelectorOperator(
        node.query,
        in_order=False,
        orders=True,
        balanced=window is None,
        by_realm=site.realms.is_partition,
        is_siddhi_5_1=site.is_siddhi_5_1,
    )
    keeps = filters_of(table_side)
    lookup = Lookup(join.input.on, join.scope, table_slot, unit.state, keeps)
    outer = OUTER_LEFT if table_slot else OUTER_RIGHT
    return TableJoin(
        node,
        target_of(node, site),
        site.place,
        site.stream(stream.input.source),
        stream.source_schema.types,
        1 - table_slot,
        unit.state,
        before,
        lookup,
        selector,
        site.realms,
        is_outer=join.input.type in outer,
        window=window,
    )


def _handlers(
    stream: CheckedStream, slot: int, site: Site
) -> tuple[list[Condition], tuple[str, ColumnarWindow] | None]:
    """The stream's filters, and behind them its window with its path, if it has one."""
    handlers = list(stream.handlers)
    if not handlers or not isinstance(handlers[-1].handler, ast.WindowHandler):
        return filters_of(stream), None
    last = handlers.pop()
    assert isinstance(last.handler, ast.WindowHandler)
    call = last.handler.call
    setup = Setup(
        stream.source_schema.types,
        site.pool,
        wants_expired=True,
        aggregates=True,
        keyed=site.realms.is_partition,
        rank=site.rank,
    )
    if not declared_window(call).columns:
        raise NotLowerable(f"the window {call.name} on a side of a join")
    window = columnar_window(ColumnarCall(last, call), setup)
    path = f"{('left', 'right')[slot]}/handler_{len(handlers)}/window"
    return filters_of(replace(stream, handlers=tuple(handlers))), (path, window)


TABLE_JOIN = Rule("table join", _lower)
