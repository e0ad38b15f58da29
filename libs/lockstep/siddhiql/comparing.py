"""What to write instead of a comparison of two types that cannot be compared."""

from __future__ import annotations

import re
from typing import Final

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.printing.expressions import print_expression

_EQUALITY: Final = (ast.CompareOperator.EQUAL, ast.CompareOperator.NOT_EQUAL)
_TEXT, _OBJECT, _BOOL = AttributeType.STRING, AttributeType.OBJECT, AttributeType.BOOL


def are_comparable(
    operator: ast.CompareOperator, left: AttributeType, right: AttributeType
) -> bool:
    """Numbers always; the others with their own type, for equality."""
    if left.is_numeric and right.is_numeric:
        return True
    return operator in _EQUALITY and left is right and left is not _OBJECT


def comparison_hint(expression: ast.Compare, left: AttributeType, right: AttributeType) -> str:
    """For two types that are not comparable: text that is valid in the place of one side."""
    is_equality = expression.operator in _EQUALITY
    types = (left, right)
    if _TEXT in types and any(one.is_numeric for one in types):
        text, other = expression.left, expression.right
        number = right
        if right is _TEXT:
            text, other, number = other, text, left
        return _text_and_number(text, other, number, is_equality)
    if not is_equality:
        is_text = left is _TEXT and right is _TEXT
        return (
            "compare texts with str:strcmp(a, b) < 0" if is_text else "only numbers have an order"
        )
    if _OBJECT in types:
        wanted = next((one for one in types if one is not _OBJECT), _TEXT)
        return f"give the object a type: cast(x, '{wanted.value}')"
    return "compare it with true or false, without quotes"


def _text_and_number(
    text: ast.Expression, other: ast.Expression, number: AttributeType, is_equality: bool
) -> str:
    if isinstance(text, ast.Constant):
        if _is_number(str(text.value)):
            return f"write the number without quotes: {text.value}"
        if is_equality:
            return f"make a text of the number: convert({print_expression(other)}, 'string')"
        return f"{text.value!r} is no number: compare numbers with numbers"
    if isinstance(other, ast.Constant) and is_equality:
        return f"write it as a text, in quotes: '{other.value}'"
    return f"make a number of the text: convert({print_expression(text)}, '{number.value}')"


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) is not None
