"""`every e1=A[…] -> e2=B[…] -> … within t`: chains of single events whose conditions compare an
event with one bound before, also in value partitions."""

from __future__ import annotations

from lockstep.execute.columnar.conditions import Comparison, take_apart
from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.flow import CURRENT
from lockstep.execute.columnar.pattern_query import PatternQuery, State
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.streams import check_stream, check_target
from lockstep.execute.columnar.selector import SelectorOperator
from lockstep.execute.columnar.units import Unit
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern, SourceKind

_STATES_MAX = 60
"""A bit of a word for each."""


def _lower(node: QueryNode, site: Site) -> Unit | None:
    pattern = node.query.input
    if not isinstance(pattern, CheckedPattern):
        return None
    _check_shape(pattern)
    query = node.query
    if query.target_kind is SourceKind.TABLE:
        raise NotLowerable("a pattern that writes a table")
    check_target(query)
    states: list[State] = []
    comparisons: list[Comparison] = []
    for checked in pattern.states:
        check_stream(checked.stream)
        own, compared = take_apart(checked)
        states.append(State(checked, site.stream(checked.stream.input.source), own))
        comparisons += compared
    selector = SelectorOperator(query, slides=False, by_realm=site.realms.is_partition)
    if selector.wanted != CURRENT:
        raise NotLowerable("expired rows of a pattern")
    return PatternQuery(
        node,
        site.target(node.writes),
        site.place,
        site.realms,
        states,
        comparisons,
        pattern.input.within_ms,
        selector,
        site.pool,
    )


def _check_shape(pattern: CheckedPattern) -> None:
    if pattern.input.is_sequence:
        raise NotLowerable("a sequence")
    element = pattern.input.element
    if not isinstance(element, ast.ChainState) or not 2 <= len(pattern.states) <= _STATES_MAX:
        raise NotLowerable("a pattern that is no chain of two or more")
    first, *others = element.elements
    if not isinstance(first, ast.EveryState) or not isinstance(first.state, ast.StreamState):
        raise NotLowerable("a chain that does not begin with every and a single event")
    if not all(isinstance(each, ast.StreamState) for each in others):
        raise NotLowerable("a chain of more than single events")


PATTERN_CHAINS = Rule("pattern chain", _lower)
