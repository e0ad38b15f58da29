"""Builds names, literals and expressions (grammar 2, 3, 13, 14)."""

from __future__ import annotations

import struct
from typing import Any

from lark import Token

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.keywords import UNIT_MS
from lockstep.siddhiql.syntax.names import Name, error, has, place

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
_MAX_DIGITS = 400

Nodes = list[Any]


def unquote(token: Token) -> str:
    """The text of a string literal without its quotes."""
    return token[3:-3] if token.startswith('"""') else token[1:-1]


def integer(token: Token, negative: bool = False, bound: int = INT_MAX) -> int:
    """The value of digits within int (or long) range, or an error at the token."""
    digits = token.rstrip("lL")
    value = int(digits) if len(digits) <= _MAX_DIGITS else bound + 2
    if value > bound + negative:
        hint = "write a long: put an L behind it" if bound == INT_MAX else "write a double"
        kind = "an int" if bound == INT_MAX else "a long"
        raise error(place(token), f"{token[:40]} does not fit into {kind}", hint)
    return -value if negative else value


def as_single(value: float) -> float:
    """The nearest 32-bit float, infinity beyond its range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def _floating(token: Token, negative: bool) -> tuple[float, AttributeType]:
    is_float = token.type == "FLOAT_LITERAL"
    value = float(token.rstrip("fFdD"))
    if is_float:
        value = as_single(value)
    if value == float("inf"):
        kind = "float" if is_float else "double"
        hint = "write it without the f" if is_float else "write a smaller number"
        raise error(place(token), f"{token[:40]} does not fit into a {kind}", hint)
    return (-value if negative else value), (
        AttributeType.FLOAT if is_float else AttributeType.DOUBLE
    )


class NameRules:
    """Names of every kind become Name."""

    def name(self, children: Nodes) -> Name:
        token = children[0]
        text = token[1:-1] if token.type == "QUOTED" else str(token)
        return Name(text, place(token))

    expression_name = source_name = quoted_or_id = name

    def source(self, children: Nodes) -> Name:
        if len(children) == 1:
            only = children[0]
            return only if isinstance(only, Name) else self.name(children)
        prefix, name = children
        return Name(name.text, place(prefix), str(prefix))

    defined_name = target = source


class LiteralRules:
    """Literals become Constant (grammar 3)."""

    def number(self, children: Nodes) -> ast.Constant:
        token = children[-1]
        negative = has(children[:-1], "MINUS")
        at = place(children[0])
        if token.type == "INT_LITERAL":
            return ast.Constant(integer(token, negative), AttributeType.INT, at=at)
        if token.type == "LONG_LITERAL":
            value = integer(token, negative, LONG_MAX)
            return ast.Constant(value, AttributeType.LONG, at=at)
        floating, type_ = _floating(token, negative)
        return ast.Constant(floating, type_, at=at)

    def boolean(self, children: Nodes) -> ast.Constant:
        return ast.Constant(children[0].type == "TRUE", AttributeType.BOOL, at=place(children[0]))

    def text(self, children: Nodes) -> ast.Constant:
        return ast.Constant(unquote(children[0]), AttributeType.STRING, at=place(children[0]))

    def unit(self, children: Nodes) -> Token:
        return children[0]  # type: ignore[no-any-return]

    def time_part(self, children: Nodes) -> tuple[Token, Token]:
        return children[0], children[1]

    def time_literal(self, children: Nodes) -> ast.Constant:
        order = list(UNIT_MS)
        total, before = 0, -1
        for amount, unit in children:
            rank = order.index(unit.type)
            if rank <= before:
                raise error(
                    place(unit),
                    f"the unit {str(unit)!r} stands behind one that is not larger",
                    "write units from the largest to the smallest, each once: 1 hour 30 min",
                )
            before = rank
            total += integer(amount) * UNIT_MS[unit.type]
        at = place(children[0][0])
        if total > LONG_MAX:
            raise error(at, "this time is too long for a long of milliseconds", "make it shorter")
        return ast.Constant(total, AttributeType.LONG, is_time=True, at=at)


class OperatorRules:
    """Operators and calls (grammar 13)."""

    def either(self, children: Nodes) -> ast.Or:
        return ast.Or(children[0], children[2], at=place(children[0]))

    def both(self, children: Nodes) -> ast.And:
        return ast.And(children[0], children[2], at=place(children[0]))

    def negation(self, children: Nodes) -> ast.Not:
        return ast.Not(children[1], at=place(children[0]))

    def in_table(self, children: Nodes) -> ast.InTable:
        return ast.InTable(children[0], children[2].text, at=place(children[2]))

    def compare(self, children: Nodes) -> ast.Compare:
        left, operator, right = children
        return ast.Compare(ast.CompareOperator(str(operator)), left, right, at=place(left))

    def arithmetic(self, children: Nodes) -> ast.Arithmetic:
        left, operator, right = children
        return ast.Arithmetic(ast.ArithmeticOperator(str(operator)), left, right, at=place(left))

    def is_null(self, children: Nodes) -> ast.IsNull:
        return ast.IsNull(children[0], at=place(children[0]))

    def plain_call(self, children: Nodes) -> ast.FunctionCall:
        return self._call(children[0], None, children[1:])

    def namespaced_call(self, children: Nodes) -> ast.FunctionCall:
        return self._call(children[1], children[0], children[2:])

    def _call(self, name: Name, namespace: Name | None, arguments: Nodes) -> ast.FunctionCall:
        star = has(arguments, "STAR")
        return ast.FunctionCall(
            name.text,
            () if star else tuple(arguments),
            None if namespace is None else namespace.text,
            star,
            at=name.at if namespace is None else namespace.at,
        )


class ReferenceRules:
    """References to attributes and events (grammar 14)."""

    def attribute_alone(self, children: Nodes) -> ast.Variable:
        return ast.Variable(children[0].text, at=children[0].at)

    def attribute_of(self, children: Nodes) -> ast.Variable:
        return ast.Variable(children[1].text, children[0].text, at=children[0].at)

    def attribute_of_event(self, children: Nodes) -> ast.Variable:
        source, index, name = children
        return ast.Variable(name.text, source.text, index, at=source.at)

    def attribute_of_prefixed(self, children: Nodes) -> ast.Variable:
        prefix, source, name = children
        return ast.Variable(name.text, str(prefix) + source.text, at=place(prefix))

    def attribute_of_prefixed_event(self, children: Nodes) -> ast.Variable:
        prefix, source, index, name = children
        return ast.Variable(name.text, str(prefix) + source.text, index, at=place(prefix))

    def event_reference(self, children: Nodes) -> ast.EventReference:
        return ast.EventReference(children[0].text, children[1], at=children[0].at)

    def prefixed_event_reference(self, children: Nodes) -> ast.EventReference:
        index = children[2] if len(children) > 2 else None
        source = str(children[0]) + children[1].text
        return ast.EventReference(source, index, at=place(children[0]))

    def index(self, children: Nodes) -> ast.EventIndex:
        if children[0].type == "LAST":
            return ast.EventIndex(integer(children[2]) if len(children) > 1 else 0, True)
        return ast.EventIndex(integer(children[0]))
