"""Windows that no other rule has: the reference's window, and columns in front of it and behind.

Also for windows by time that stand behind others' timers, which the columnar ones do not.
"""

from __future__ import annotations

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.execute.columnar.hosted.engine import HostedEngine
from lockstep.execute.columnar.hosted.queries import Members
from lockstep.execute.columnar.hosted.window import HostedWindow
from lockstep.execute.columnar.hosted.window_query import HostedWindowQuery
from lockstep.execute.observe import Observe
from lockstep.execute.reference.context import EngineContext
from lockstep.plan import QueryNode
from lockstep.plan.ranks import ranks_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Leaves
from lockstep.siddhiql.checked import CheckedStream
from lockstep.streams.lowering import Leaving, Parts, parts_of, stream_of, window_of
from lockstep.windows.registry import build_window


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    call = None if stream is None else window_of(stream)
    if stream is None or call is None:
        return None
    declared = declared_window(call)
    if declared.leaves is None or not declared.hosted:
        return None
    if site.realms.is_partition:
        raise NotLowerable(f"the window {call.name} in a partition")
    resets = declared.leaves is Leaves.TOGETHER
    leaving = Leaving(slides=not resets, in_order=False, resets=resets)
    parts = parts_of(node, site, stream, leaving)
    window, path = _window(node, site, stream, parts, resets=resets)
    return HostedWindowQuery(*parts.positional(), hosted=window, window_path=path)


def _window(
    node: QueryNode, site: Site, stream: CheckedStream, parts: Parts, *, resets: bool
) -> tuple[HostedWindow, str]:
    ranks = ranks_of(site.plan)
    engine = HostedEngine(
        Members(frozenset()).plan_of(site.plan), ranks, {}, observe=Observe.NOTHING
    )
    context = EngineContext(engine, node.path)
    for index, checked in enumerate(stream.handlers):
        if isinstance(checked.handler, ast.WindowHandler):
            before = stream.handlers[index - 1].schema if index else stream.source_schema
            own = context.child(f"handler_{index}")
            build_window(checked.handler.call, checked.scope, before, own)
            path = f"{own.path}/window"
    drops = resets and parts.selector.wanted == CURRENT
    window = HostedWindow(engine, path, ranks[node.path], before.types, drops_expired=drops)
    return window, path


HOSTED_WINDOWS = Rule("window of the reference, the rest in columns", _lower)
