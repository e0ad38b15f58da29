"""The conditions of expression windows (semantics 7.14, 7.15), checked when they are constants."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.syntax.parser import parse
from lockstep.siddhiql.typing import positioned

_WINDOWS = ("expression", "expressionBatch")


def window_scope(scope: Scope) -> Scope:
    """What the text of an expression window sees: the newest event, `first` and `last`."""
    own = scope.sources[0]
    sources = (own, Source(own.schema, ("first",)), Source(own.schema, ("last",)))
    return replace(scope, shape=Shape.MATCHED, sources=sources, preferred=0)


def check_window_expression(call: ast.FunctionCall, scope: Scope) -> None:
    """Refuses a constant condition that does not parse or is not bool."""
    if call.namespace is not None or call.name not in _WINDOWS:
        return
    text = call.arguments[0]
    if not isinstance(text, ast.Constant) or text.type is not AttributeType.STRING:
        return
    try:
        parsed = parse(str(text.value), "expression")
        condition(parsed, window_scope(scope), "the window's text", aggregators_allowed=True)
    except SiddhiQLError as error:
        raise positioned(
            text.at, f"in the window's condition: {error.message}", error.hint
        ) from None
