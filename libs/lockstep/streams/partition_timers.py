"""Timers inside partitions: those of its instances fire in the order of their requests."""

from __future__ import annotations

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable, Site
from lockstep.plan import PartitionNode, QueryNode
from lockstep.selection.columns import wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Timers
from lockstep.siddhiql.checked import CheckedPattern, CheckedStream
from lockstep.siddhiql.trees import below


def check_timers(node: QueryNode, site: Site) -> None:
    """NotLowerable where another query of the same partition has timers whose firing is seen: which
    of the two is first hangs on who asked first, and each query knows its own requests only."""
    if site.partition is None:
        return
    for other in site.plan.nodes:
        if isinstance(other, PartitionNode) and other.name == site.partition:
            names = [query.name for query in other.queries if _is_seen(query)]
            if len(names) > 1:
                raise NotLowerable(f"the partition has timers of {names[0]} and of {names[1]}")


def _is_seen(node: QueryNode) -> bool:
    query = node.query
    stream = query.input
    if isinstance(stream, CheckedPattern):
        states = below(stream.input)
        return any(isinstance(each, ast.AbsentState) and each.for_ms is not None for each in states)
    for checked in stream.handlers if isinstance(stream, CheckedStream) else ():
        if isinstance(checked.handler, ast.WindowHandler):
            timers = declared_window(checked.handler.call).timers
            wants_expired = wanted_kind(query.query.action) != CURRENT
            return timers is Timers.SEEN or (timers is Timers.SEEN_WITH_EXPIRED and wants_expired)
    return False
