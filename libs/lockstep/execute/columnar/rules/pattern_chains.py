"""`every e1=A[…] -> e2=B[…] -> … within t`: chains of single events whose conditions compare an
event with one bound before, also in value partitions."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.execute.columnar.bound import SLOTS_MAX
from lockstep.execute.columnar.chain_query import ChainQuery
from lockstep.execute.columnar.conditions import Comparison, take_apart
from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.flow import CURRENT
from lockstep.execute.columnar.pattern_rows import State
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.streams import check_stream, check_target
from lockstep.execute.columnar.selector import SelectorOperator
from lockstep.execute.columnar.units import Unit
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern, SourceKind

Parts = tuple[list[State], list[Comparison], SelectorOperator]


def _lower(node: QueryNode, site: Site) -> Unit | None:
    pattern = node.query.input
    if not isinstance(pattern, CheckedPattern) or not _is_chain(pattern):
        return None
    parts = chain_parts(node, pattern, site)
    if parts is None:
        return None
    states, comparisons, selector = parts
    return ChainQuery(
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


def chain_parts(node: QueryNode, pattern: CheckedPattern, site: Site) -> Parts | None:
    """States, comparisons and selector of a chain of single events; None where a condition looks
    at more than an event that is bound before. Raises NotLowerable."""
    query = node.query
    if query.target_kind is SourceKind.TABLE:
        raise NotLowerable("a pattern that writes a table")
    check_target(query)
    states: list[State] = []
    comparisons: list[Comparison] = []
    for checked in pattern.states:
        check_stream(checked.stream)
        own, compared = take_apart(checked)
        if any(each.bound.offset is not None or each.bound.slot >= each.state for each in compared):
            return None
        states.append(State(checked, site.stream(checked.stream.input.source), own))
        comparisons += compared
    selector = SelectorOperator(query, slides=False, by_realm=site.realms.is_partition)
    if selector.wanted != CURRENT:
        raise NotLowerable("expired rows of a pattern")
    return states, comparisons, selector


def _is_chain(pattern: CheckedPattern) -> bool:
    """Single events behind one `every`; what else there is has rules.patterns."""
    element = pattern.input.element
    if pattern.input.is_sequence or not isinstance(element, ast.ChainState):
        return False
    first, *others = element.elements
    return 2 <= len(pattern.states) <= SLOTS_MAX and begins_with_every(first, others)


def begins_with_every(first: ast.StateElement, others: Sequence[ast.StateElement]) -> bool:
    """Whether these are single events, the first behind `every`."""
    return (
        isinstance(first, ast.EveryState)
        and isinstance(first.state, ast.StreamState)
        and all(isinstance(each, ast.StreamState) for each in others)
    )


PATTERN_CHAINS = Rule("pattern chain", _lower)
