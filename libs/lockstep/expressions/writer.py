"""Writes the source of one function: attributes bound to locals first, aggregators next, the result
last. Null rules are grammar 13.4; every sub-expression knows its type and whether it may be null.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from lockstep.expressions import code
from lockstep.expressions.code import BOOL, LONG, OBJECT, Code
from lockstep.expressions.slots import Locals
from lockstep.functions.registry import FUNCTIONS
from lockstep.operators.contract import Context
from lockstep.operators.placing import placed
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import arguments_of, infer

MAX_BRACKETS: Final = 150
"""That stand in each other in one piece of source. Python reads 200, and an operation may take
several. Whatever is shallower has no further call in it."""
_TEXT_OR_BRACKET: Final = re.compile(
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[()\[\]{}]"""
)  # as `repr` writes texts


class Writer(Locals):
    """Writes expressions without aggregators."""

    def __init__(self, scope: Scope, context: Context) -> None:
        super().__init__(scope)
        self.context = context

    def _atom(self, value: Code) -> tuple[str, str]:
        """(source to evaluate first, name to use again)."""
        if value.atom:
            return value.source, value.source
        name = self.temp()
        return f"({name} := {value.source})", name

    # --- expressions -------------------------------------------------------------------------

    def write(self, expression: ast.Expression) -> Code:
        """The value of an expression."""
        value = self._written(expression)
        if value.atom or _brackets(value.source) <= MAX_BRACKETS:
            return value
        # A function of its own and no statement in front: its place says whether it is computed.
        name = self.temp()
        self.statements.append(f"{name} = lambda: {value.source}")
        return replace(value, source=f"{name}()")

    def _written(self, expression: ast.Expression) -> Code:
        match expression:
            case ast.Constant():
                return self._constant(expression)
            case ast.Variable():
                return self.bind_attribute(expression)
            case ast.EventReference():
                return Code(self.bind_event(expression), OBJECT)
            case ast.Arithmetic():
                return self._arithmetic(expression)
            case ast.Compare():
                return self._compare(expression)
            case ast.And() | ast.Or():
                word = "and" if isinstance(expression, ast.And) else "or"
                sides = self.truth(expression.left), self.truth(expression.right)
                return Code(f"({sides[0]} {word} {sides[1]})", BOOL, nullable=False)
            case ast.Not():
                return Code(f"(not {self.truth(expression.operand)})", BOOL, nullable=False)
            case ast.IsNull():
                return self._is_null(expression)
            case ast.InTable():
                return self._in_table(expression)
            case ast.FunctionCall():
                return self.call(expression)

    def truth(self, expression: ast.Expression) -> str:
        """Source that is truthy only when the expression is exactly true."""
        value = self.write(expression)
        return f"({value.source} is True)" if value.nullable else value.source

    def _constant(self, constant: ast.Constant) -> Code:
        value = constant.value
        if constant.type is code.FLOAT:
            value = code.HELPERS["f32"](float(value))
        elif constant.type is code.DOUBLE:
            value = float(value)
        return Code(code.literal(value), constant.type, nullable=False, atom=True)

    def _arithmetic(self, expression: ast.Arithmetic) -> Code:
        left, right = self.write(expression.left), self.write(expression.right)
        type_ = code.wider(left.type, right.type)
        nulls = []
        names = []
        for operand in (left, right):
            if operand.nullable:
                first, name = self._atom(operand)
                nulls.append(f"{first} is None")
            else:
                name = operand.source
            names.append(code.as_type(name, operand.type, type_))
        value = code.arithmetic(expression.operator, names[0], names[1], type_, self.temp())
        divides = expression.operator in (
            ast.ArithmeticOperator.DIVIDE,
            ast.ArithmeticOperator.REMAINDER,
        )
        if nulls:
            return Code(f"(None if {' or '.join(nulls)} else {value})", type_)
        return Code(value, type_, nullable=divides)

    def _compare(self, expression: ast.Compare) -> Code:
        left, right = self.write(expression.left), self.write(expression.right)
        operator = expression.operator
        equality = operator in (ast.CompareOperator.EQUAL, ast.CompareOperator.NOT_EQUAL)
        numeric = left.type.is_numeric and right.type.is_numeric
        type_ = code.wider(left.type, right.type) if numeric else left.type
        # Python's None is equal to None alone, so one null test is enough for == and !=.
        guarded = (
            [left, right] if not equality else [left] if left.nullable and right.nullable else []
        )
        converts = numeric and any(
            code.as_type("x", side.type, type_) != "x" for side in (left, right)
        )
        if converts:
            guarded = [left, right]
        tests, names = [], []
        for operand in (left, right):
            name = operand.source
            if operand in guarded and operand.nullable:
                first, name = self._atom(operand)
                tests.append(first)
            names.append(code.as_type(name, operand.type, type_) if numeric else name)
        plain = f"{names[0]} {operator.value} {names[1]}"
        if operator is ast.CompareOperator.NOT_EQUAL:
            parts = [f"{test} is None" for test in tests]
            return Code(f"({' or '.join([*parts, plain])})", BOOL, nullable=False)
        parts = [f"{test} is not None" for test in tests]
        return Code(f"({' and '.join([*parts, plain])})", BOOL, nullable=False)

    def _is_null(self, expression: ast.IsNull) -> Code:
        operand = expression.operand
        if isinstance(operand, ast.EventReference):
            return Code(f"({self.bind_event(operand)} is None)", BOOL, nullable=False)
        return Code(f"({self.write(operand).source} is None)", BOOL, nullable=False)

    def _in_table(self, expression: ast.InTable) -> Code:
        table = self.context.table(expression.table)
        contains = table.membership(expression.condition, self.scope, self.context)
        return Code(f"{self.constant(contains)}(e)", BOOL, nullable=False)

    def call(self, call: ast.FunctionCall) -> Code:
        """The value of a call of a function: a registered one, or the app's own."""
        if call.namespace is None:
            match call.name:
                case "eventTimestamp":
                    return self._event_timestamp(call)
                case "currentTimeMillis":
                    return Code(f"{self.constant(self.context.now_ms)}()", LONG, nullable=False)
                case "ifThenElse":
                    return self._if_then_else(call)
        factory = FUNCTIONS.get((call.namespace or "", call.name))
        arguments = arguments_of(call, self.scope)
        with placed(call.at):
            if factory is None:
                function = self.context.function(call.name, arguments)
            else:
                function = factory(arguments, self.context)
        values = ", ".join(self.write(argument).source for argument in call.arguments)
        return Code(f"{self.constant(function)}({values})", infer(call, self.scope))

    def _event_timestamp(self, call: ast.FunctionCall) -> Code:
        """That of this event, or of the event that the call refers to."""
        if not call.arguments:
            return Code("e.timestamp_ms", LONG, nullable=False, atom=True)
        argument = call.arguments[0]
        if isinstance(argument, ast.Variable):
            argument = ast.EventReference(argument.name, argument.index, at=argument.at)
        assert isinstance(argument, ast.EventReference)
        event = self.bind_event(argument)
        return Code(f"(None if {event} is None else {event}.timestamp_ms)", LONG)

    def _if_then_else(self, call: ast.FunctionCall) -> Code:
        condition, first, second = call.arguments
        truth = self.truth(condition)
        chosen, other = self.write(first), self.write(second)
        source = f"({chosen.source} if {truth} else {other.source})"
        return Code(source, infer(call, self.scope), nullable=chosen.nullable or other.nullable)


def _brackets(source: str) -> int:
    """How many stand in each other, those in texts apart."""
    if source.count("(") <= MAX_BRACKETS:
        return 0
    depth = deepest = 0
    for found in _TEXT_OR_BRACKET.finditer(source):
        one = found.group()
        depth += (one in "([{") - (one in ")]}")
        deepest = max(deepest, depth)
    return deepest
