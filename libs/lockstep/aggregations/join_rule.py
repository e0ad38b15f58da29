"""A stream joined with an aggregation that is kept in columns."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.aggregations.columns.join import AggregationJoin, Reach, Reading
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.aggregations.meaning.aggregation import selected
from lockstep.aggregations.meaning.columns import Columns
from lockstep.columns.frame import Evaluate
from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.expressions.columns import Compiler
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedAggregation, CheckedJoin, SourceKind
from lockstep.streams.columns import Condition
from lockstep.streams.lowering import check_stream, filters_of, target_of
from lockstep.tables.meaning.conditions import equalities
from lockstep.tables.rule import OUTER_LEFT, OUTER_RIGHT


def _lower(node: QueryNode, site: Site) -> Unit | None:
    join = node.query.input
    if not isinstance(join, CheckedJoin):
        return None
    kinds = (join.left.kind, join.right.kind)
    if SourceKind.AGGREGATION not in kinds:
        return None
    if site.realms.is_partition:
        raise NotLowerable("a join with an aggregation in a partition")
    row_slot = kinds.index(SourceKind.AGGREGATION)
    stream, row = (join.left, join.right) if row_slot else (join.right, join.left)
    check_stream(stream)
    if join.input.trigger is (ast.JoinTrigger.RIGHT if row_slot else ast.JoinTrigger.LEFT):
        raise NotLowerable("a join that nothing triggers")
    selector = SelectorOperator(
        node.query, slides=False, in_order=False, resets=True, orders=True,
        is_siddhi_5_1=site.is_siddhi_5_1,
    )  # fmt: skip
    unit = site.aggregation(row.input.source)
    assert isinstance(unit, AggregationUnit)
    outer = OUTER_LEFT if row_slot else OUTER_RIGHT
    made = AggregationJoin(
        node,
        target_of(node, site),
        site.place,
        (site.stream(stream.input.source), 1 - row_slot),
        unit,
        filters_of(stream),
        _reading(join, row_slot, unit, filters_of(row)),
        selector,
        site.realms,
        is_outer=join.input.type in outer,
    )
    unit.is_read = True
    return made


def _reading(
    join: CheckedJoin, row_slot: int, unit: AggregationUnit, keeps: Sequence[Condition]
) -> Reading:
    compiler = Compiler(join.scope)

    def compiled(expression: ast.Expression) -> Evaluate:
        compiler.type_of(expression)
        return compiler.compile(expression)

    assert join.input.range is not None
    checked = unit.checked
    reach = Reach(join.input.range, checked.granularities, compiled)
    key = _key(join, row_slot, checked)
    keys = None if key is None else [compiled(expression) for expression in key]
    condition = None if join.input.on is None else compiler.condition(join.input.on)
    if compiler.may_fail:
        raise NotLowerable("a condition or range that calls functions")
    columns = Columns(selected(checked), checked.scope).columns
    places = [(), *(column.places for column in columns)]
    return Reading(reach, keys, condition, keeps, places, checked.schema.types)


def _key(
    join: CheckedJoin, row_slot: int, checked: CheckedAggregation
) -> list[ast.Expression] | None:
    """What the condition says the group-by attributes are equal to, if it does so for all."""
    found, _ = equalities(join.input.on, join.scope, row_slot)
    values = {equality.attribute: equality.value for equality in found}
    items = selected(checked)
    key: list[ast.Expression] = []
    for variable in checked.definition.selector.group_by:
        wanted = checked.scope.resolve(variable)
        shown = [
            place
            for place, item in enumerate(items, start=1)
            if isinstance(item.expression, ast.Variable)
            and checked.scope.resolve(item.expression) == wanted
        ]
        if not shown or shown[0] not in values:
            return None
        key.append(values[shown[0]])
    return key or None


AGGREGATION_JOIN = Rule("join with an aggregation", _lower)
