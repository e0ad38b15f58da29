"""Where the engine's chain of handlers finds stream functions."""

from __future__ import annotations

from lockstep.events import StreamSchema
from lockstep.operators.contract import Context
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler
from lockstep.stream_functions import registry
from lockstep.stream_functions.call import StreamLink


def build_stream_function(
    call: ast.FunctionCall, handler: CheckedHandler, before: StreamSchema, context: Context
) -> StreamLink:
    """The link of a stream function handler; `before` is the schema that comes in."""
    return registry.build_stream_function(call, handler.scope, before, context)
