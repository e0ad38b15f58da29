"""Computes sub-expressions of constants once, with Java's arithmetic (grammar 13.2)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lockstep.events import AttributeType
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedInput, CheckedQuery, CheckedStream

_PLAIN: dict[ast.ArithmeticOperator, Callable[[Any, Any], Any]] = {
    ast.ArithmeticOperator.ADD: operator.add,
    ast.ArithmeticOperator.SUBTRACT: operator.sub,
    ast.ArithmeticOperator.MULTIPLY: operator.mul,
}
_ORDER = (AttributeType.DOUBLE, AttributeType.FLOAT, AttributeType.LONG, AttributeType.INT)


def fold_constants(query: CheckedQuery) -> CheckedQuery:
    """The query with constant arithmetic in select, having and stream filters computed."""
    selection = tuple(
        item
        if (folded := fold(item.expression)) is item.expression
        else replace(item, expression=folded)
        for item in query.selection
    )
    changed = any(new is not old for new, old in zip(selection, query.selection, strict=True))
    selector = query.query.selector
    if selector.having is not None and (having := fold(selector.having)) is not selector.having:
        query = replace(
            query, query=replace(query.query, selector=replace(selector, having=having))
        )
    if changed:
        query = replace(query, selection=selection)
    folded_input = _fold_input(query.input)
    return query if folded_input is query.input else replace(query, input=folded_input)


def _fold_input(checked: CheckedInput) -> CheckedInput:
    if not isinstance(checked, CheckedStream):
        return checked
    handlers = tuple(_fold_handler(handler) for handler in checked.handlers)
    if all(new is old for new, old in zip(handlers, checked.handlers, strict=True)):
        return checked
    return replace(checked, handlers=handlers)


def _fold_handler(checked: CheckedHandler) -> CheckedHandler:
    handler = checked.handler
    if isinstance(handler, ast.Filter):
        condition = fold(handler.condition)
        if condition is not handler.condition:
            return replace(checked, handler=replace(handler, condition=condition))
    return checked


def fold(expression: ast.Expression) -> ast.Expression:
    """The expression with its constant arithmetic computed; itself when there is none."""
    match expression:
        case ast.Arithmetic(left=left, right=right):
            return _fold_arithmetic(expression, fold(left), fold(right))
        case (
            ast.Compare(left=left, right=right)
            | ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
        ):
            new_left, new_right = fold(left), fold(right)
            if new_left is left and new_right is right:
                return expression
            return replace(expression, left=new_left, right=new_right)
        case ast.Not(operand=operand):
            folded = fold(operand)
            return expression if folded is operand else replace(expression, operand=folded)
    # Arguments of functions stay as written: some ask whether theirs is a literal.
    return expression


def _fold_arithmetic(
    expression: ast.Arithmetic, left: ast.Expression, right: ast.Expression
) -> ast.Expression:
    if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
        types = {left.type, right.type}
        type_ = next((t for t in _ORDER if t in types), None)
        if type_ is not None:
            value = compute(expression.operator, left.value, right.value, type_)
            if value is not None:
                return ast.Constant(value, type_, at=expression.at)
    if left is expression.left and right is expression.right:
        return expression
    return replace(expression, left=left, right=right)


def compute(
    wanted: ast.ArithmeticOperator, left: Any, right: Any, type_: AttributeType
) -> int | float | None:
    """`left wanted right` in the type's arithmetic; None for a division by zero."""
    if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
        left, right = float(left), float(right)
    if type_ is AttributeType.FLOAT:
        left, right = java.f32(left), java.f32(right)
    is_integer = type_ in (AttributeType.INT, AttributeType.LONG)
    value: int | float | None
    if wanted is ast.ArithmeticOperator.DIVIDE:
        value = (java.divide_integers if is_integer else java.divide_floats)(left, right)
    elif wanted is ast.ArithmeticOperator.REMAINDER:
        value = (java.remainder_integers if is_integer else java.remainder_floats)(left, right)
    else:
        value = _PLAIN[wanted](left, right)
    if value is None:
        return None
    if type_ is AttributeType.INT:
        return java.wrap_int(int(value))
    if type_ is AttributeType.LONG:
        return java.wrap_long(int(value))
    return java.f32(value) if type_ is AttributeType.FLOAT else value
