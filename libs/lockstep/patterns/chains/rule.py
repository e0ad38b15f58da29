"""`every e1=A[…] -> e2=B[…] -> … within t`: chains of single events whose conditions compare an
event with one bound before, also in value partitions."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.columns.bound import SLOTS_MAX
from lockstep.columns.rule import Rule, Site
from lockstep.columns.units import Unit
from lockstep.patterns.chains.query import ChainQuery
from lockstep.patterns.parts import looks_back_alone, pattern_parts
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern


def _lower(node: QueryNode, site: Site) -> Unit | None:
    pattern = node.query.input
    if not isinstance(pattern, CheckedPattern) or not _is_chain(pattern):
        return None
    parts = pattern_parts(node, pattern, site)
    return ChainQuery(parts, pattern.input.within_ms) if looks_back_alone(parts) else None


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
