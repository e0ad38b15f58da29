"""Conditions of pattern states, taken apart: what the event alone decides, and comparisons of a
value of the event with a value of one event that was bound before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockstep.events import AttributeType
from lockstep.execute.columnar.expressions import Compiler, Evaluate, NotLowerable
from lockstep.execute.columnar.stream_query import Condition
from lockstep.operators.tables.conditions import conjuncts
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedState
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import promote

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`own operator other`: own of the arriving event at `state`, other of the event bound at
    `slot`.

    Both are compared as numbers of `type`, or as strings or booleans.
    """

    state: int
    slot: int
    operator: int
    own: Evaluate
    other: Evaluate
    type: AttributeType


def slots_in(expression: ast.Expression, scope: Scope) -> set[int]:
    """The slots whose events the expression reads; NotLowerable for what reads more than values."""
    match expression:
        case ast.Constant():
            return set()
        case ast.Variable():
            ref = scope.resolve(expression)
            if ref.is_list or ref.index is not None:
                raise NotLowerable("an attribute of a counted state")
            return {ref.slot}
        case ast.FunctionCall(arguments=arguments):
            if expression.name in ("eventTimestamp", "currentTimeMillis"):
                raise NotLowerable("the time in a pattern's condition")
            return set().union(*(slots_in(argument, scope) for argument in arguments))
        case ast.Not(operand=operand) | ast.IsNull(operand=operand):
            if isinstance(operand, ast.EventReference):
                raise NotLowerable("a test of a whole event")
            return slots_in(operand, scope)
        case (
            ast.Arithmetic(left=left, right=right)
            | ast.Compare(left=left, right=right)
            | ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
        ):
            return slots_in(left, scope) | slots_in(right, scope)
    raise NotLowerable(f"{type(expression).__name__} in a pattern's condition")


def take_apart(state: CheckedState) -> tuple[list[Condition], list[Comparison]]:
    """(conditions on the event alone, comparisons with bound events)."""
    own: list[Condition] = []
    comparisons: list[Comparison] = []
    for part, scope in _parts(state):
        slots = slots_in(part, scope)
        compiler = Compiler(scope)
        if slots <= {state.slot}:
            own.append(compiler.condition(part))
        else:
            comparisons.append(_comparison(part, state.slot, compiler))
        if compiler.may_fail:
            raise NotLowerable("a pattern's condition that calls functions")
    return own, comparisons


def _parts(state: CheckedState) -> Iterable[tuple[ast.Expression, Scope]]:
    for checked in state.stream.handlers:
        if not isinstance(checked.handler, ast.Filter):
            raise NotLowerable("a stream function in a pattern")
        for part in conjuncts(checked.handler.condition):
            yield part, checked.scope


def _comparison(part: ast.Expression, slot: int, compiler: Compiler) -> Comparison:
    if not isinstance(part, ast.Compare):
        raise NotLowerable("a condition on two events that is no comparison")
    sides: Sequence[ast.Expression] = (part.left, part.right)
    slots = [slots_in(side, compiler.scope) for side in sides]
    operator = part.operator.value
    if slots[0] != {slot}:
        sides, slots = sides[::-1], slots[::-1]
        operator = _SWAPPED[operator]
    if slots[0] != {slot} or len(slots[1]) != 1 or max(slots[1]) >= slot:
        raise NotLowerable("a comparison that mixes several events")
    types = [compiler.type_of(side) for side in sides]
    if all(type_.is_numeric for type_ in types):
        type_ = promote(types[0], types[1])
    elif types[0] is types[1] and operator in ("==", "!="):
        type_ = types[0]
    else:
        raise NotLowerable(f"{types[0]} {operator} {types[1]}")
    own, other = (compiler.compile(side) for side in sides)
    return Comparison(slot, next(iter(slots[1])), OPERATORS.index(operator), own, other, type_)
