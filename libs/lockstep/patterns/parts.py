"""What every rule for patterns takes a query apart into."""

from __future__ import annotations

from lockstep.columns.bound import Bound, bounds_in
from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable, Site, check_period
from lockstep.patterns.columns.rows import State
from lockstep.patterns.columns.unit import PatternParts
from lockstep.patterns.conditions import Comparison, take_apart
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern, CheckedQuery, SourceKind
from lockstep.siddhiql.scope import OUTPUT_SLOT
from lockstep.siddhiql.trees import below
from lockstep.streams.lowering import check_stream, check_target


def pattern_parts(node: QueryNode, pattern: CheckedPattern, site: Site) -> PatternParts:
    """Raises NotLowerable where a state, a condition or the selector has no columnar form."""
    query = node.query
    if query.target_kind is SourceKind.TABLE:
        raise NotLowerable("a pattern that writes a table")
    check_target(query)
    check_period(pattern.input.within_ms)
    for each in below(pattern.input.element):
        check_period(each.for_ms if isinstance(each, ast.AbsentState) else None)
    states: list[State] = []
    comparisons: list[Comparison] = []
    for checked in pattern.states:
        check_stream(checked.stream)
        own, compared = take_apart(checked)
        states.append(State(checked, site.stream(checked.stream.input.source), own))
        comparisons += compared
    selector = SelectorOperator(
        query,
        slides=False,
        by_realm=site.realms.is_partition,
        is_siddhi_5_1=site.is_siddhi_5_1,
    )
    if selector.wanted != CURRENT:
        raise NotLowerable("expired rows of a pattern")
    return PatternParts(
        node,
        site.target(node.writes),
        site.place,
        site.realms,
        states,
        comparisons,
        selector,
        site.pool,
    )


def looks_back_alone(parts: PatternParts) -> bool:
    """Conditions compare with single events of states before, and with nothing else; and nobody
    asks for the second of a single event."""
    return all(
        each.bound.offset is None and each.bound.slot < each.state and each.is_plain
        for each in parts.comparisons
    ) and all(each.offset is None for each in read_by(parts.node.query))


def read_by(query: CheckedQuery) -> set[Bound]:
    """What select, group by and having read of a match."""
    selector = query.query.selector
    read = {bound for item in query.selection for bound in bounds_in(item.expression, query.scope)}
    for variable in selector.group_by:
        read |= set(bounds_in(variable, query.scope))
    if selector.having is not None:
        read |= set(bounds_in(selector.having, query.having_scope))
    return {bound for bound in read if bound.slot != OUTPUT_SLOT}
