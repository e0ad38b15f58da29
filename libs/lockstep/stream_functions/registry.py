"""The stream functions by (namespace or "", name), and how a handler becomes a link of a chain."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.events import StreamSchema
from lockstep.functions.plugins import Folders, Promised
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.operators.placing import placed
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import arguments_of
from lockstep.stream_functions.call import StreamCall, StreamFunctionFactory, StreamLink
from lockstep.stream_functions.installed import guarded_link

STREAM_FUNCTIONS: Mapping[tuple[str, str], StreamFunctionFactory] = Folders(
    "lockstep.stream_functions",
    "STREAM_FUNCTIONS",
    Promised(
        ("process",),
        "its factory takes a StreamCall and gives Appending, Multiplying or Buffering",
        guarded_link,
    ),
)
"""Ours, and those of installed extensions."""


def build_stream_function(
    call: ast.FunctionCall, scope: Scope, schema: StreamSchema, context: Context
) -> StreamLink:
    """The link of a `#ns:name(…)` handler; `scope` and `schema` are what its arguments see."""
    factory = STREAM_FUNCTIONS.get((call.namespace or "", call.name))
    if factory is None:
        raise EventError(f"there is no stream function {call.name!r}")
    values = [context.compile(argument, scope) for argument in call.arguments]
    with placed(call.at):
        return factory(StreamCall(arguments_of(call, scope), values, schema, context))
