"""Queries on a stream without a window: filters, projections, functions, running aggregates."""

from __future__ import annotations

from lockstep.columns.units import Unit
from lockstep.plan import QueryNode
from lockstep.streams.contract import Rule, Site
from lockstep.streams.lowering import build, stream_of, window_of


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    if stream is None or window_of(stream) is not None:
        return None
    return build(node, site, stream, {})


RUNNING = Rule("filter, project, running aggregates", _lower)
