"""`condition in Table`: true when some row of the table makes the condition true (semantics 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Context
from lockstep.siddhiql import ast
from lockstep.siddhiql.resolution import row_scope
from lockstep.siddhiql.scope import Scope


def compile_membership(
    expression: ast.InTable, scope: Scope, context: Context
) -> Callable[[Any], bool]:
    """The test as a function of an event of the scope's shape."""
    from lockstep.tables.meaning import Match

    table = context.table(expression.table)
    inner = row_scope(scope, table.schema)
    match = Match(expression.condition, inner, len(scope.sources), context)
    contains: Callable[[Any], bool] = table.finder(match).contains
    return contains
