"""Patterns and sequences of single events, counts, `and`, `or` and absences, with `every` and
`within`, whose conditions compare an event with one that is bound; also in value
partitions."""

from __future__ import annotations

from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.machine import PatternMachine
from lockstep.patterns.columns.memory import Program
from lockstep.patterns.columns.query import PatternQuery
from lockstep.patterns.columns.shape import Shape
from lockstep.patterns.parts import pattern_parts, read_by
from lockstep.plan import PartitionNode, QueryNode
from lockstep.siddhiql.checked import CheckedPattern
from lockstep.streams.partition_timers import check_timers


def _lower(node: QueryNode, site: Site, *, is_sequence: bool) -> Unit | None:
    pattern = node.query.input
    if not isinstance(pattern, CheckedPattern) or pattern.input.is_sequence != is_sequence:
        return None
    shape = Shape(pattern)
    if shape.is_timed:
        _check_waits(node, shape, site)
    parts = pattern_parts(node, pattern, site)
    streams = list(dict.fromkeys(state.stream for state in parts.states))
    read = sorted(read_by(node.query), key=lambda bound: bound.number)
    program = Program(
        shape,
        [streams.index(state.stream) for state in parts.states],
        [(each.state, each.bound.place, each.code) for each in parts.comparisons],
        [bound.place for bound in read],
        is_siddhi_5_1=site.is_siddhi_5_1,
    )
    leaps = site.plan.checked.is_playback
    return PatternQuery(parts, PatternMachine(program), read, rank=site.rank, leaps=leaps)


def _check_waits(node: QueryNode, shape: Shape, site: Site) -> None:
    """NotLowerable where an absence has a meaning of its own, or waits for what is not seen."""
    check_timers(node, site)
    if site.is_siddhi_5_1 and shape.nodes[0].kind == machine.ABSENCE:
        raise NotLowerable("an absence at the beginning, as Siddhi 5.1 has it")
    if not shape.waits_from_start or site.partition is None:
        return
    for other in site.plan.nodes:
        if isinstance(other, PartitionNode) and other.name == site.partition:
            unread = [name for name in other.reads if name not in node.reads]
            if unread:
                raise NotLowerable(
                    f"an absence at the beginning, in a partition whose instances {unread[0]} makes"
                )


PATTERNS = Rule("pattern", lambda node, site: _lower(node, site, is_sequence=False))
"""Patterns on columns, for all instances of a partition at once (semantics 12)."""

SEQUENCES = Rule("sequence", lambda node, site: _lower(node, site, is_sequence=True))
"""Sequences likewise (semantics 13)."""
