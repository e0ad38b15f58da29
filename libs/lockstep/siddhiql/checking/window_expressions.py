"""The conditions of expression windows (semantics 7.14, 7.15), checked when they are constants."""

from __future__ import annotations

from dataclasses import replace

from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.syntax.parser import parse
from lockstep.siddhiql.typing import positioned


def window_scope(scope: Scope) -> Scope:
    """What the text of an expression window sees: the newest event, `first` and `last`."""
    own = scope.sources[0]
    sources = (own, Source(own.schema, ("first",)), Source(own.schema, ("last",)))
    return replace(scope, shape=Shape.MATCHED, sources=sources, preferred=0)


def check_window_expression(text: ast.Constant, scope: Scope) -> None:
    """Refuses a condition that does not parse or is not bool."""
    try:
        parsed = parse(str(text.value), "expression")
        condition(parsed, window_scope(scope), "the window's text", aggregators_allowed=True)
    except SiddhiQLError as error:
        raise positioned(
            text.at, f"in the window's condition: {error.message}", error.hint
        ) from None
