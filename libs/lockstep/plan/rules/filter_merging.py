"""Joins adjacent filters `[a][b]` into `[a and b]`: an event that a drops is never shown to b
either way.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedQuery, CheckedStream


def merge_filters(query: CheckedQuery) -> CheckedQuery:
    """The query with runs of filters on its single stream merged."""
    if not isinstance(query.input, CheckedStream):
        return query
    merged: list[CheckedHandler] = []
    for checked in query.input.handlers:
        before = merged[-1].handler if merged else None
        if isinstance(before, ast.Filter) and isinstance(checked.handler, ast.Filter):
            both = ast.And(before.condition, checked.handler.condition, at=before.at)
            if not _calls_functions(both):
                merged[-1] = replace(merged[-1], handler=replace(before, condition=both))
                continue
        merged.append(checked)
    if len(merged) == len(query.input.handlers):
        return query
    return replace(query, input=replace(query.input, handlers=tuple(merged)))


def _calls_functions(expression: ast.Expression) -> bool:
    """Whether a call occurs: an aggregator in a filter counts what reaches it, so it must not
    move.
    """
    match expression:
        case ast.FunctionCall():
            return True
        case (
            ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
            | ast.Compare(left=left, right=right)
            | ast.Arithmetic(left=left, right=right)
        ):
            return _calls_functions(left) or _calls_functions(right)
        case ast.Not(operand=operand) | ast.IsNull(operand=operand):
            return _calls_functions(operand)
        case ast.InTable(condition=condition):
            return _calls_functions(condition)
    return False
