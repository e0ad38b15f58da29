"""Queries that read a named window: what it lets out comes and leaves (semantics 8)."""

from __future__ import annotations

from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.events import AttributeType
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedStream, SourceKind
from lockstep.streams.columns import StreamQuery
from lockstep.streams.lowering import Leaving, parts_of

_LEAVING = Leaving(slides=True, in_order=False)
"""Nothing is known of the order in which events leave."""


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = node.query.input
    if not isinstance(stream, CheckedStream) or stream.kind is not SourceKind.WINDOW:
        return None
    if stream.input.source not in site.windows:
        raise NotLowerable("reads a window without columns")
    if AttributeType.OBJECT in stream.source_schema.types:
        raise NotLowerable("an attribute of type object")
    if not all(isinstance(each.handler, ast.Filter) for each in stream.handlers):
        raise NotLowerable("a window or a stream function behind a named window")
    return StreamQuery(*parts_of(node, site, stream, _LEAVING).positional())


NAMED_WINDOWS = Rule("reads a named window", _lower)
