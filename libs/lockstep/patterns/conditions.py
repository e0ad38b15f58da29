"""Conditions of pattern states, taken apart: what the event alone decides, and comparisons of a
value of the event with a value of one event that is bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lockstep.columns.bound import Bound, bounds_in
from lockstep.columns.frame import Evaluate
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedState
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import promote
from lockstep.streams.columns import Condition
from lockstep.tables.meaning.conditions import conjuncts

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {
    ast.CompareOperator.EQUAL: ast.CompareOperator.NOT_EQUAL,
    ast.CompareOperator.NOT_EQUAL: ast.CompareOperator.EQUAL,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`own operator other`: own of the arriving event at `state`, other of an event that is bound.

    Both are compared as numbers of `type`, or as strings or booleans.
    """

    state: int
    bound: Bound
    operator: int
    own: Evaluate
    other: Evaluate
    type: AttributeType


def take_apart(state: CheckedState) -> tuple[list[Condition], list[Comparison]]:
    """(conditions on the event alone, comparisons with bound events)."""
    own: list[Condition] = []
    comparisons: list[Comparison] = []
    for part, scope in _parts(state):
        compiler = Compiler(scope)
        if set(bounds_in(part, scope)) <= {Bound(state.slot)}:
            own.append(compiler.condition(part))
        else:
            comparisons.append(_comparison(part, state.slot, compiler))
        if compiler.may_fail:
            raise NotLowerable("a pattern's condition that calls functions")
        if compiler.reads_time:
            raise NotLowerable("the time in a pattern's condition")
    return own, comparisons


def _parts(state: CheckedState) -> Iterable[tuple[ast.Expression, Scope]]:
    for checked in state.stream.handlers:
        if not isinstance(checked.handler, ast.Filter):
            raise NotLowerable("a stream function in a pattern")
        for part in conjuncts(checked.handler.condition):
            yield part, checked.scope


def _comparison(part: ast.Expression, slot: int, compiler: Compiler) -> Comparison:
    part = _affirmed(part)
    if not isinstance(part, ast.Compare):
        raise NotLowerable("a condition on two events that is no comparison")
    own = {Bound(slot)}
    sides: Sequence[ast.Expression] = (part.left, part.right)
    read = [set(bounds_in(side, compiler.scope)) for side in sides]
    operator = part.operator.value
    if not read[0] <= own:
        sides, read = sides[::-1], read[::-1]
        operator = _SWAPPED[operator]
    if not read[0] <= own or len(read[1]) != 1 or read[1] == own:
        raise NotLowerable("a comparison that mixes several events")
    (bound,) = read[1]
    types = [compiler.type_of(side) for side in sides]
    if all(type_.is_numeric for type_ in types):
        type_ = promote(types[0], types[1])
    elif types[0] is types[1] and operator in ("==", "!="):
        type_ = types[0]
    else:
        raise NotLowerable(f"{types[0]} {operator} {types[1]}")
    value, other = (compiler.compile(side) for side in sides)
    return Comparison(slot, bound, OPERATORS.index(operator), value, other, type_)


def _affirmed(part: ast.Expression) -> ast.Expression:
    """`not (a == b)` as `a != b`, and the other way round: the same for nulls, too (grammar 13.4).
    Of the orders that is not true: `not (a < b)` holds for nulls, `a >= b` does not."""
    if isinstance(part, ast.Not) and isinstance(part.operand, ast.Compare):
        negated = _NEGATED.get(part.operand.operator)
        if negated is not None:
            return replace(part.operand, operator=negated)
    return part
