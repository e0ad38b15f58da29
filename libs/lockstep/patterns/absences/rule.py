"""`every e1=A[…] -> … -> not X[…] for t`: chains of single events that end with an absence, whose
conditions compare an event with one bound before, also in value partitions."""

from __future__ import annotations

from lockstep.columns.bound import SLOTS_MAX
from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.patterns.absences.query import AbsenceQuery
from lockstep.patterns.chains.rule import begins_with_every
from lockstep.patterns.parts import looks_back_alone, pattern_parts
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern
from lockstep.streams.partition_timers import check_timers


def _lower(node: QueryNode, site: Site) -> Unit | None:
    pattern = node.query.input
    wait_ms = _ends_with_absence(pattern) if isinstance(pattern, CheckedPattern) else None
    if not isinstance(pattern, CheckedPattern) or wait_ms is None:
        return None
    if pattern.input.within_ms is not None:
        raise NotLowerable("an absence for some time in a pattern with 'within'")
    parts = pattern_parts(node, pattern, site)
    if not looks_back_alone(parts):
        return None
    check_timers(node, site)
    return AbsenceQuery(parts, wait_ms, site.rank)


def _ends_with_absence(pattern: CheckedPattern) -> int | None:
    """How long the chain waits at its end; None for what is no such chain."""
    element = pattern.input.element
    if pattern.input.is_sequence or not isinstance(element, ast.ChainState):
        return None
    first, *others, last = element.elements
    if not (2 <= len(pattern.states) <= SLOTS_MAX and begins_with_every(first, others)):
        return None
    return last.for_ms if isinstance(last, ast.AbsentState) else None


PATTERN_ABSENCES = Rule("pattern chain that ends with an absence", _lower)
"""Matches are what timers bring; see absences.kernel."""
