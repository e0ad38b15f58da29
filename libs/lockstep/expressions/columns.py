"""Expressions as functions of frames. What has no exact columnar form is refused by NotLowerable
when the app is lowered, never when it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.columns.arithmetic import compare, compute, joined
from lockstep.columns.bound import number_of
from lockstep.columns.column import Column, Mask, constant, truth
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.functions.columns import Probe, mapped
from lockstep.functions.registry import FUNCTIONS
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope, Shape
from lockstep.siddhiql.typing import arguments_of, infer

BOOL, LONG = AttributeType.BOOL, AttributeType.LONG
Member = Callable[[ast.InTable, Scope], Callable[[Frame], Mask]]
"""Compiles what asks a table."""


class Compiler:
    """Compiles expressions of one scope.

    `calls` are the aggregator calls of the query in the order in which the selector runs them; they
    read the running values of the frame. `member` compiles what asks a table.
    """

    def __init__(
        self,
        scope: Scope,
        calls: Sequence[ast.FunctionCall] = (),
        member: Member | None = None,
    ) -> None:
        self.scope = scope
        self._member = member
        self.asks: list[str] = []
        """The tables that something compiled here asks."""
        self._calls = {id(call): index for index, call in enumerate(calls)}
        self.may_fail = False
        """Whether something compiled here may refuse a value (and so drop a chunk)."""
        self.reads_time = False
        """Whether something compiled here reads an event's time or the clock."""

    def type_of(self, expression: ast.Expression) -> AttributeType:
        """The type of an expression that is compared or kept; NotLowerable for `object`."""
        type_ = infer(expression, self.scope)
        if type_ is AttributeType.OBJECT:
            raise NotLowerable("a value of type object")
        return type_

    def compile(self, expression: ast.Expression) -> Evaluate:
        """The expression's values."""
        match expression:
            case ast.Constant():
                return self._constant(expression)
            case ast.Variable():
                return self._variable(expression)
            case ast.Arithmetic():
                return self._arithmetic(expression)
            case ast.Compare():
                return self._compare(expression)
            case ast.And(left=left, right=right):
                return self._both(np.logical_and, left, right)
            case ast.Or(left=left, right=right):
                return self._both(np.logical_or, left, right)
            case ast.Not(operand=operand):
                inner = self.condition(operand)
                return lambda frame: Column(BOOL, ~inner(frame))
            case ast.IsNull():
                return self._is_null(expression)
            case ast.FunctionCall():
                return self._call(expression)
            case ast.InTable():
                return self._in_table(expression)
        raise NotLowerable(f"{type(expression).__name__} has no columnar form")

    def condition(self, expression: ast.Expression) -> Callable[[Frame], Mask]:
        """Where the expression is exactly true."""
        value = self.compile(expression)
        return lambda frame: truth(value(frame))

    def _constant(self, expression: ast.Constant) -> Evaluate:
        type_, value = expression.type, expression.value
        if type_ is AttributeType.OBJECT:
            raise NotLowerable("a constant of type object")
        return lambda frame: constant(type_, value, len(frame))

    def _variable(self, variable: ast.Variable) -> Evaluate:
        ref = self.scope.resolve(variable)
        # Those of one stream go through. What two or more bring is kept until they meet.
        if ref.type is AttributeType.OBJECT and self.scope.shape is not Shape.STREAM:
            raise NotLowerable("an attribute of type object")
        slot, attribute = number_of(ref), ref.attribute
        return lambda frame: frame.column(slot, attribute)

    def _arithmetic(self, expression: ast.Arithmetic) -> Evaluate:
        left, right = self.compile(expression.left), self.compile(expression.right)
        wanted = expression.operator
        return lambda frame: compute(wanted, left(frame), right(frame))

    def _compare(self, expression: ast.Compare) -> Evaluate:
        types = (self.type_of(expression.left), self.type_of(expression.right))
        wanted = expression.operator
        equality = wanted in (ast.CompareOperator.EQUAL, ast.CompareOperator.NOT_EQUAL)
        if not all(type_.is_numeric for type_ in types) and not (equality and types[0] is types[1]):
            raise NotLowerable(f"{types[0]} {wanted.value} {types[1]}")
        left, right = self.compile(expression.left), self.compile(expression.right)
        return lambda frame: compare(wanted, left(frame), right(frame))

    def _both(self, combine: Any, left: ast.Expression, right: ast.Expression) -> Evaluate:
        first, second = self.condition(left), self.condition(right)
        return lambda frame: Column(BOOL, combine(first(frame), second(frame)))

    def _in_table(self, expression: ast.InTable) -> Evaluate:
        if self._member is None:
            raise NotLowerable("a condition that asks a table ('in') here")
        contains = self._member(expression, self.scope)
        self.asks.append(expression.table)
        return lambda frame: Column(BOOL, contains(frame))

    def _is_null(self, expression: ast.IsNull) -> Evaluate:
        operand = expression.operand
        if isinstance(operand, ast.EventReference):
            ref = self.scope.resolve_event(operand)
            if self.scope.shape is Shape.STREAM or (ref.is_list and ref.index is None):
                raise NotLowerable("a test of a whole event")
            slot = number_of(ref)
            return lambda frame: _nulls_of(frame.absent(slot), len(frame))
        value = self.compile(operand)
        return lambda frame: _nulls_of(value(frame).nulls, len(frame))

    def _call(self, call: ast.FunctionCall) -> Evaluate:
        index = self._calls.get(id(call))
        if index is not None:
            return lambda frame: frame.result(index)
        if call.namespace is None and call.name == "eventTimestamp":
            if call.arguments:
                raise NotLowerable("eventTimestamp of another event")
            self.reads_time = True
            return lambda frame: Column(LONG, frame.times())
        if call.namespace is None and call.name == "currentTimeMillis":
            self.reads_time = True
            return lambda frame: Column(LONG, frame.now())
        if call.namespace is None and call.name == "ifThenElse":
            return self._if_then_else(call)
        if call.namespace is None and call.name in ("coalesce", "default"):
            return self._first_present(call)
        return self._function(call)

    def _function(self, call: ast.FunctionCall) -> Evaluate:
        """A call of a registered function that keeps no state."""
        type_ = infer(call, self.scope)
        factory = FUNCTIONS.get((call.namespace or "", call.name))
        if factory is None or call.name in self.scope.functions:
            title = f"{call.namespace}:{call.name}" if call.namespace else call.name
            raise NotLowerable(f"{title}() is the app's own")
        context: Any = Probe()
        self.may_fail = True
        function = factory(arguments_of(call, self.scope), context)
        arguments = [self.compile(argument) for argument in call.arguments]
        fixed = [
            argument if isinstance(argument, ast.Constant) else None for argument in call.arguments
        ]
        return lambda frame: mapped(function, arguments, fixed, type_, frame)

    def _if_then_else(self, call: ast.FunctionCall) -> Evaluate:
        condition = self.condition(call.arguments[0])
        then, otherwise = map(self.compile, call.arguments[1:])
        return lambda frame: joined(then(frame), otherwise(frame), condition(frame))

    def _first_present(self, call: ast.FunctionCall) -> Evaluate:
        choices = [self.compile(argument) for argument in call.arguments]
        if len({infer(argument, self.scope) for argument in call.arguments}) > 1:
            raise NotLowerable(f"{call.name}() of several types")

        def evaluate(frame: Frame) -> Column:
            # All of them, as in the reference: one that fails does so whoever stands in front.
            value, *others = [choice(frame) for choice in choices]
            for other in others:
                if value.nulls is None:
                    break
                value = joined(value, other, ~value.nulls)
            return value

        return evaluate


def _nulls_of(mask: Mask | None, length: int) -> Column:
    return Column(BOOL, np.zeros(length, np.bool_) if mask is None else mask)
