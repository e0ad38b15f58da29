"""What writes test and compute of the rows that they find, as programs (program_kernel): whatever
does not look at the row is a column that the writer's rows bring; only the rest is steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lockstep.columns.column import DTYPES, Column, Longs, Mask, Strings
from lockstep.columns.frame import Evaluate, Frame, Rows
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer, promote
from lockstep.tables import program_kernel as machine
from lockstep.tables.meaning.conditions import reads_row

Steps = tuple[tuple[int, int], ...]
_ROW = 1
_SEEN = 2
_REAL = (AttributeType.FLOAT, AttributeType.DOUBLE)
_NARROW = (AttributeType.INT, AttributeType.FLOAT)
_ARITHMETIC = {
    ast.ArithmeticOperator.ADD: (machine.ADD, machine.REAL_ADD),
    ast.ArithmeticOperator.SUBTRACT: (machine.SUBTRACT, machine.REAL_SUBTRACT),
    ast.ArithmeticOperator.MULTIPLY: (machine.MULTIPLY, machine.REAL_MULTIPLY),
    ast.ArithmeticOperator.DIVIDE: (machine.DIVIDE, machine.REAL_DIVIDE),
    ast.ArithmeticOperator.REMAINDER: (machine.REMAINDER, machine.REAL_REMAINDER),
}
_COMPARE = {
    ast.CompareOperator.EQUAL: (machine.EQUAL, machine.REAL_EQUAL),
    ast.CompareOperator.NOT_EQUAL: (machine.NOT_EQUAL, machine.REAL_NOT_EQUAL),
    ast.CompareOperator.LESS: (machine.LESS, machine.REAL_LESS),
    ast.CompareOperator.LESS_EQUAL: (machine.LESS_EQUAL, machine.REAL_LESS_EQUAL),
    ast.CompareOperator.GREATER: (machine.GREATER, machine.REAL_GREATER),
    ast.CompareOperator.GREATER_EQUAL: (machine.GREATER_EQUAL, machine.REAL_GREATER_EQUAL),
}


@dataclass(eq=False)
class Programs:
    """Those of one writer; `scope` has what it brings (slot 0) and the table's row (slot 1), and of
    a foretold write the row that was seen (slot 2).

    `given` are the columns that they read of what the writer brings, `read` the row's attributes.
    `shift`: how many columns stand in front of the attributes of slot 0.
    """

    scope: Scope | None = None
    shift: int = 0
    given: list[Evaluate] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    _places: dict[int, int] = field(default_factory=dict)

    @property
    def _known(self) -> Scope:
        assert self.scope is not None
        return self.scope

    def attribute(self, place: int) -> int:
        """The given column of an attribute that the writer brings."""
        if place not in self._places:
            self._places[place] = len(self.given)
            self.given.append(lambda frame: frame.column(0, place))
        return self._places[place]

    def test(self, parts: Sequence[ast.Expression]) -> Steps:
        """Whether all of the conditions are exactly true. NotLowerable."""
        steps: list[tuple[int, int]] = []
        for number, each in enumerate(parts):
            steps += self._steps(each)
            if number:
                steps.append((machine.AND, 0))
        return _limited(steps)

    def value(self, expression: ast.Expression) -> Steps:
        """A value. NotLowerable."""
        return _limited(list(self._steps(expression)))

    def _steps(self, expression: ast.Expression) -> Iterator[tuple[int, int]]:
        if not self.reads_rows(expression):
            yield machine.GIVEN, self._column(expression)
            return
        match expression:
            case ast.Variable():
                ref = self._known.resolve(expression)
                if ref.type is AttributeType.OBJECT:
                    raise NotLowerable("an attribute of type object")
                self.read.add(ref.attribute)
                yield machine.HELD if ref.slot == _ROW else machine.SEEN, ref.attribute
            case ast.Arithmetic():
                yield from self._arithmetic(expression)
            case ast.Compare():
                yield from self._compare(expression)
            case ast.And(left=left, right=right):
                yield from self._all(left, right)
                yield machine.AND, 0
            case ast.Or(left=left, right=right):
                yield from self._all(left, right)
                yield machine.OR, 0
            case ast.Not(operand=operand):
                yield from self._steps(operand)
                yield machine.NOT, 0
            case ast.IsNull(operand=ast.EventReference() as row):
                if self._known.resolve_event(row).slot != _SEEN:
                    raise NotLowerable("a test of a whole row")
                yield machine.UNSEEN, 0
            case ast.IsNull(operand=operand):
                yield from self._steps(operand)
                yield machine.IS_NULL, 0
            case ast.FunctionCall():
                yield from self._call(expression)
            case _:
                raise NotLowerable(f"{type(expression).__name__} of a row")

    def reads_rows(self, expression: ast.Expression) -> bool:
        """Whether it looks at more than what the writer brings."""
        return any(reads_row(expression, self._known, slot) for slot in (_ROW, _SEEN))

    def evaluated(self, expression: ast.Expression) -> Evaluate:
        """A value of what the writer brings alone. NotLowerable."""
        compiler = Compiler(self._known)
        compiler.type_of(expression)
        compiled = compiler.compile(expression)
        if compiler.may_fail:
            raise NotLowerable("a function that may refuse what no row is found for")
        if not self.shift:
            return compiled
        return lambda frame: compiled(_shifted(frame, self.shift))

    def _column(self, expression: ast.Expression) -> int:
        if isinstance(expression, ast.Variable):
            return self.attribute(self._known.resolve(expression).attribute + self.shift)
        self.given.append(self.evaluated(expression))
        return len(self.given) - 1

    def _all(self, *each: ast.Expression) -> Iterator[tuple[int, int]]:
        for one in each:
            yield from self._steps(one)

    def _type_of(self, expression: ast.Expression) -> AttributeType:
        return Compiler(self._known).type_of(expression)

    def _as(self, expression: ast.Expression, wanted: AttributeType) -> Iterator[tuple[int, int]]:
        """A number in a type that is as wide or wider, as the reference converts it."""
        yield from self._steps(expression)
        if wanted in _REAL and self._type_of(expression) not in _REAL:
            yield machine.TO_DOUBLE, 0
            if wanted is AttributeType.FLOAT:
                yield machine.TO_SINGLE, 0

    def _arithmetic(self, expression: ast.Arithmetic) -> Iterator[tuple[int, int]]:
        type_ = promote(self._type_of(expression.left), self._type_of(expression.right))
        yield from self._as(expression.left, type_)
        yield from self._as(expression.right, type_)
        yield _ARITHMETIC[expression.operator][type_ in _REAL], int(type_ in _NARROW)

    def _compare(self, expression: ast.Compare) -> Iterator[tuple[int, int]]:
        types = self._type_of(expression.left), self._type_of(expression.right)
        if all(type_.is_numeric for type_ in types):
            type_ = promote(*types)
            yield from self._as(expression.left, type_)
            yield from self._as(expression.right, type_)
        else:
            if types[0] is not types[1] or expression.operator not in (
                ast.CompareOperator.EQUAL,
                ast.CompareOperator.NOT_EQUAL,
            ):
                raise NotLowerable(f"{types[0]} {expression.operator.value} {types[1]}")
            type_ = types[0]
            yield from self._all(expression.left, expression.right)
        yield _COMPARE[expression.operator][type_ in _REAL], 0

    def _call(self, call: ast.FunctionCall) -> Iterator[tuple[int, int]]:
        """Those that choose between values of one type."""
        chooses = call.name in ("ifThenElse", "coalesce", "default")
        if call.namespace is not None or not chooses or call.name in self._known.functions:
            raise NotLowerable(f"{call.name}() of a row")
        values = call.arguments[1:] if call.name == "ifThenElse" else call.arguments
        if len({infer(each, self._known) for each in values}) > 1:
            raise NotLowerable(f"{call.name}() of several types")
        if call.name == "ifThenElse":
            yield from self._all(*call.arguments)
            yield machine.CHOOSE, 0
            return
        for number, each in enumerate(values):
            yield from self._steps(each)
            if number:
                yield machine.FIRST_PRESENT, 0


def _shifted(frame: Frame, by: int) -> Rows:
    """Without the columns in front."""
    return Rows(len(frame), lambda slot, at: frame.column(slot, at + by), frame.times, frame.now)


def _limited(steps: Sequence[tuple[int, int]]) -> Steps:
    """NotLowerable where the stack has no room."""
    pushed = dict.fromkeys((machine.GIVEN, machine.HELD, machine.SEEN, machine.UNSEEN), 1)
    pushed[machine.CHOOSE] = -2
    alone = (machine.TO_DOUBLE, machine.TO_SINGLE, machine.NOT, machine.IS_NULL)
    height = most = 0
    for what, _ in steps:
        height += pushed.get(what, 0 if what in alone else -1)
        most = max(most, height)
    if most > machine.STACK:
        raise NotLowerable("an expression that is nested too deeply")
    return tuple(steps)


def bits_of(column: Column, pool: StringPool) -> tuple[Longs, Mask | None]:
    """A column's values as programs have them, and where it is null."""
    if isinstance(column, Strings):
        column = pool.adopt(column)
    if column.type in _REAL:
        return column.values.astype(np.float64).view(np.int64), column.nulls
    return column.values.astype(np.int64), column.nulls


def column_of(type_: AttributeType, bits: Longs, nulls: Mask, pool: StringPool) -> Column:
    """The reverse."""
    gone = nulls if nulls.any() else None
    if type_ is AttributeType.STRING:
        return Strings(codes=bits.astype(np.int32), words=pool.words, nulls=gone)
    values = bits.view(np.float64) if type_ in _REAL else bits
    with np.errstate(over="ignore"):
        return Column(type_, values.astype(DTYPES[type_]), gone)
