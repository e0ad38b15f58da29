"""Pieces of generated source: an expression's text with its type, and the arithmetic of the
types.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lockstep.events import AttributeType
from lockstep.plan import java
from lockstep.siddhiql import ast

INT, LONG = AttributeType.INT, AttributeType.LONG
FLOAT, DOUBLE = AttributeType.FLOAT, AttributeType.DOUBLE
BOOL, OBJECT = AttributeType.BOOL, AttributeType.OBJECT


@dataclass(frozen=True, slots=True)
class Code:
    """Python source of a value. `atom`: may be written twice at no cost (a name or a literal)."""

    source: str
    type: AttributeType
    nullable: bool = True
    atom: bool = False


HELPERS: dict[str, Any] = {
    "f32": java.f32,
    "wrap_int": java.wrap_int,
    "wrap_long": java.wrap_long,
    "divide_ints": java.divide_ints,
    "divide_longs": java.divide_longs,
    "divide_floats": java.divide_floats,
    "divide_f32": java.divide_f32,
    "remainder_integers": java.remainder_integers,
    "remainder_floats": java.remainder_floats,
    "remainder_f32": java.remainder_f32,
    "inf": math.inf,
    "nan": math.nan,
}

_DIVIDERS = {INT: "divide_ints", LONG: "divide_longs", FLOAT: "divide_f32", DOUBLE: "divide_floats"}
_REMAINDERS = {
    INT: "remainder_integers",
    LONG: "remainder_integers",
    FLOAT: "remainder_f32",
    DOUBLE: "remainder_floats",
}


def wider(left: AttributeType, right: AttributeType) -> AttributeType:
    """The type in which two numbers are computed or compared (grammar 13.2)."""
    for candidate in (DOUBLE, FLOAT, LONG):
        if candidate in (left, right):
            return candidate
    return INT


def as_type(source: str, own: AttributeType, wanted: AttributeType) -> str:
    """Source of a non-null number converted to the wider type, where Python would not do the
    same.
    """
    if wanted is FLOAT and own in (INT, LONG):
        return f"f32({source})"
    if wanted is DOUBLE and own is LONG:
        return f"float({source})"
    return source


def arithmetic(
    operator: ast.ArithmeticOperator, left: str, right: str, type_: AttributeType, temp: str
) -> str:
    """Source of `left operator right` for non-null atoms of the result's type."""
    if operator is ast.ArithmeticOperator.DIVIDE:
        return f"{_DIVIDERS[type_]}({left}, {right})"
    if operator is ast.ArithmeticOperator.REMAINDER:
        return f"{_REMAINDERS[type_]}({left}, {right})"
    plain = f"{left} {operator.value} {right}"
    if type_ is INT:
        return f"({temp} if -2147483648 <= ({temp} := {plain}) <= 2147483647 else wrap_int({temp}))"
    if type_ is LONG:
        bounds = f"-9223372036854775808 <= ({temp} := {plain}) <= 9223372036854775807"
        return f"({temp} if {bounds} else wrap_long({temp}))"
    if type_ is FLOAT:
        return f"f32({plain})"
    return f"({plain})"


def literal(value: Any) -> str:
    """Source of a constant."""
    if isinstance(value, float) and (math.isinf(value) or math.isnan(value)):
        return f"({value})"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text
