"""Expressions as text, with parentheses only where precedence asks for them (grammar 13.1)."""

from __future__ import annotations

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.printing.names import name, prefixed, string
from lockstep.siddhiql.syntax.keywords import UNIT_MS

_OR, _AND, _IN, _EQUALITY, _RELATION, _SUM, _PRODUCT, _NOT, _PRIMARY = range(9)

_ARITHMETIC = {
    ast.ArithmeticOperator.ADD: _SUM,
    ast.ArithmeticOperator.SUBTRACT: _SUM,
    ast.ArithmeticOperator.MULTIPLY: _PRODUCT,
    ast.ArithmeticOperator.DIVIDE: _PRODUCT,
    ast.ArithmeticOperator.REMAINDER: _PRODUCT,
}
_EQUALITIES = (ast.CompareOperator.EQUAL, ast.CompareOperator.NOT_EQUAL)
_UNIT_NAMES = {
    "YEARS": "year",
    "MONTHS": "month",
    "WEEKS": "week",
    "DAYS": "day",
    "HOURS": "hour",
    "MINUTES": "min",
    "SECONDS": "sec",
    "MILLISECONDS": "millisec",
}


def print_time(milliseconds: int) -> str:
    """A time literal, largest units first."""
    parts = []
    rest = milliseconds
    for unit, length_ms in UNIT_MS.items():
        amount, rest = divmod(rest, length_ms)
        if amount:
            parts.append(f"{amount} {_UNIT_NAMES[unit]}")
    return " ".join(parts) or "0 sec"


def print_constant(constant: ast.Constant) -> str:
    """A literal of the constant's type."""
    value = constant.value
    if constant.is_time:
        return print_time(int(value))
    match constant.type:
        case AttributeType.STRING:
            return string(str(value))
        case AttributeType.BOOL:
            return "true" if value else "false"
        case AttributeType.LONG:
            return f"{value}L"
        case AttributeType.FLOAT:
            return f"{float(value)!r}f"
        case AttributeType.DOUBLE:
            return repr(float(value))
        case _:
            return str(value)


def _index(index: ast.EventIndex | None) -> str:
    if index is None:
        return ""
    if not index.from_last:
        return f"[{index.offset}]"
    return f"[last-{index.offset}]" if index.offset else "[last]"


def print_variable(variable: ast.Variable) -> str:
    """An attribute reference."""
    if variable.source is None:
        return name(variable.name)
    return f"{prefixed(variable.source)}{_index(variable.index)}.{name(variable.name)}"


def print_call(call: ast.FunctionCall) -> str:
    """`ns:name(arguments)`."""
    title = name(call.name)
    if call.namespace is not None:
        title = f"{name(call.namespace)}:{title}"
    inside = "*" if call.star else ", ".join(map(print_expression, call.arguments))
    return f"{title}({inside})"


def print_expression(expression: ast.Expression) -> str:
    """An expression as text."""
    return _print(expression)[0]


def _at_least(expression: ast.Expression, level: int) -> str:
    text, own = _print(expression)
    return text if own >= level else f"({text})"


def _binary(left: ast.Expression, word: str, right: ast.Expression, level: int) -> tuple[str, int]:
    """All operators associate to the left."""
    return f"{_at_least(left, level)} {word} {_at_least(right, level + 1)}", level


def _print(expression: ast.Expression) -> tuple[str, int]:
    match expression:
        case ast.Constant():
            return print_constant(expression), _PRIMARY
        case ast.Variable():
            return print_variable(expression), _PRIMARY
        case ast.EventReference(source=source, index=index):
            return prefixed(source) + _index(index), _PRIMARY
        case ast.FunctionCall():
            return print_call(expression), _PRIMARY
        case ast.Arithmetic(operator=operator, left=left, right=right):
            return _binary(left, operator.value, right, _ARITHMETIC[operator])
        case ast.Compare(operator=compare, left=left, right=right):
            level = _EQUALITY if compare in _EQUALITIES else _RELATION
            return _binary(left, compare.value, right, level)
        case ast.And(left=left, right=right):
            return _binary(left, "and", right, _AND)
        case ast.Or(left=left, right=right):
            return _binary(left, "or", right, _OR)
        case ast.Not(operand=operand):
            return f"not {_at_least(operand, _NOT)}", _NOT
        case ast.IsNull(operand=tested):
            return f"{print_expression(tested)} is null", _PRIMARY
        case ast.InTable(condition=condition, table=table):
            return f"{_at_least(condition, _IN)} in {name(table)}", _IN
