"""Queries on a stream: filters, projections, functions, running aggregates, windows in columns."""

from __future__ import annotations

from functools import partial

from lockstep.columns.rule import Rule, Site
from lockstep.columns.units import Unit
from lockstep.plan import QueryNode
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Leaves, Timers
from lockstep.streams.columns import StreamQuery
from lockstep.streams.lowering import parts_of, stream_of, window_of
from lockstep.streams.partition_timers import check_timers


def _running(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    if stream is None or window_of(stream) is not None:
        return None
    return StreamQuery(*parts_of(node, site, stream).positional())


def _windowed(node: QueryNode, site: Site, *, tumbling: bool) -> Unit | None:
    stream = stream_of(node.query)
    call = None if stream is None else window_of(stream)
    if stream is None or call is None:
        return None
    declared = declared_window(call)
    if not declared.columns or (declared.leaves is Leaves.TOGETHER) is not tumbling:
        return None
    if declared.timers is Timers.SEEN:
        check_timers(node, site)
    return StreamQuery(*parts_of(node, site, stream).positional())


RUNNING = Rule("filter, project, running aggregates", _running)
SLIDING_WINDOWS = Rule("sliding window", partial(_windowed, tumbling=False))
TUMBLING_WINDOWS = Rule("tumbling window", partial(_windowed, tumbling=True))
