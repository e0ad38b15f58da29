"""Conditions of pattern states, taken apart: what the event alone decides, and comparisons of a
value of the event with a value of one event that is bound. `or`, `not` and `ifThenElse` of such
become clauses, each of which holds when one of its comparisons does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lockstep.columns.bound import Bound, bounds_in
from lockstep.columns.column import Column
from lockstep.columns.frame import Evaluate, Frame
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

    Both are compared as numbers of `type`, or as strings or booleans. `is_negated`: it must not
    hold; `or_next`: it is enough that it or the next one does.
    """

    state: int
    bound: Bound
    operator: int
    own: Evaluate
    other: Evaluate
    type: AttributeType
    is_negated: bool = False
    or_next: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it must hold for itself."""
        return not (self.is_negated or self.or_next)

    @property
    def code(self) -> int:
        """The operator as kernels have it (patterns.columns.token_kernel)."""
        return self.operator | 8 * self.is_negated | 16 * self.or_next


def take_apart(state: CheckedState) -> tuple[list[Condition], list[Comparison]]:
    """(conditions on the event alone, comparisons with bound events)."""
    own: list[Condition] = []
    comparisons: list[Comparison] = []
    for part, scope in _parts(state):
        compiler = Compiler(scope)
        if set(bounds_in(part, scope)) <= {Bound(state.slot)}:
            own.append(compiler.condition(part))
        else:
            comparisons += _compared(part, state.slot, compiler)
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


_CLAUSES_MAX = 32
_Literal = tuple[ast.Expression, bool]
"""An expression, and whether it must not hold."""


def _compared(part: ast.Expression, slot: int, compiler: Compiler) -> list[Comparison]:
    """The comparisons of a condition, clause by clause."""
    made: list[Comparison] = []
    bound = set(bounds_in(part, compiler.scope)) - {Bound(slot)}
    beside = min(bound, key=lambda each: each.number)
    for clause in _clauses(_affirmed(part), negated=False):
        last = len(clause) - 1
        for number, (expression, negated) in enumerate(clause):
            literal = _literal(expression, slot, compiler, beside)
            made.append(replace(literal, is_negated=negated, or_next=number < last))
    return made


def _clauses(part: ast.Expression, *, negated: bool) -> list[list[_Literal]]:
    """A condition as clauses that all have to hold: each when one of its literals does."""
    match part:
        case ast.Not(operand=operand):
            return _clauses(operand, negated=not negated)
        case ast.And(left=left, right=right) | ast.Or(left=left, right=right):
            sides = [_clauses(each, negated=negated) for each in (left, right)]
            if isinstance(part, ast.And) != negated:
                return sides[0] + sides[1]
            if len(sides[0]) * len(sides[1]) > _CLAUSES_MAX:
                raise NotLowerable("a condition of too many alternatives")
            return [one + other for one in sides[0] for other in sides[1]]
        case ast.FunctionCall(name="ifThenElse", namespace=None, arguments=(when, then, other)):
            chosen = ast.And(ast.Or(ast.Not(when), then), ast.Or(when, other))
            return _clauses(chosen, negated=negated)
    return [[(part, negated)]]


def _literal(part: ast.Expression, slot: int, compiler: Compiler, beside: Bound) -> Comparison:
    """A literal; one that reads a single event is compared with true, that of the arriving event
    `beside` a bound one that its clause reads anyway."""
    read, own = set(bounds_in(part, compiler.scope)), {Bound(slot)}
    is_single = len(read) <= 1 and compiler.type_of(part) is AttributeType.BOOL
    if isinstance(part, ast.Compare) and is_single and not read <= own:
        # Both sides may read the bound event; else one is a constant.
        is_single = all(set(bounds_in(each, compiler.scope)) for each in (part.left, part.right))
    if not is_single:
        return _comparison(part, slot, compiler)
    value = compiler.compile(part)
    if read <= own:
        return Comparison(slot, beside, 0, value, _true, AttributeType.BOOL)
    (bound,) = read
    return Comparison(slot, bound, 0, _true, value, AttributeType.BOOL)


def _true(frame: Frame) -> Column:
    return Column(AttributeType.BOOL, np.ones(len(frame), np.bool_))


def _comparison(part: ast.Expression, slot: int, compiler: Compiler) -> Comparison:
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
