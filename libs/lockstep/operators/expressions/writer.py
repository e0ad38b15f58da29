"""Writes the source of one function: attributes bound to locals first, aggregators next, the result
last. Null rules are grammar 13.4; every sub-expression knows its type and whether it may be null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.events import AttributeType
from lockstep.operators.contract import Context
from lockstep.operators.expressions import code
from lockstep.operators.expressions.calls import call_function, event_timestamp, make_aggregator
from lockstep.operators.expressions.code import BOOL, LONG, OBJECT, Code
from lockstep.operators.expressions.slots import bind_attribute, bind_event
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope

AggregatorMaker = Callable[[], Any]


class Writer:
    """Collects the statements and constants of one generated function."""

    def __init__(
        self,
        scope: Scope,
        context: Context,
        *,
        first_aggregator: int = 0,
        with_aggregators: bool = False,
        feeds: bool = True,
    ) -> None:
        self.scope = scope
        self.context = context
        self.namespace: dict[str, Any] = dict(code.HELPERS)
        self.makers: list[AggregatorMaker] = []
        self.with_aggregators = with_aggregators
        self.calls: list[ast.FunctionCall] = []
        self._feeds = feeds
        self._first_aggregator = first_aggregator
        self._bound: dict[str, str] = {}
        self._statements: list[str] = []
        self._temps = 0

    # --- building blocks ---------------------------------------------------------------------

    def function_source(self, parameters: str, result: str) -> str:
        """The whole function as text."""
        lines = [f"    {line}" for line in self._statements]
        return "\n".join([f"def function({parameters}):", *lines, f"    return {result}", ""])

    def temp(self) -> str:
        """A fresh local name."""
        self._temps += 1
        return f"t{self._temps}"

    def bind(self, source: str) -> str:
        """The local that holds `source`, evaluated once at the function's head."""
        name = self._bound.get(source)
        if name is None:
            name = self._bound[source] = f"a{len(self._bound)}"
            self._statements.append(f"{name} = {source}")
        return name

    def constant(self, value: Any) -> str:
        """The global name of a Python object."""
        name = f"c{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def _atom(self, value: Code) -> tuple[str, str]:
        """(source to evaluate first, name to use again)."""
        if value.atom:
            return value.source, value.source
        name = self.temp()
        return f"({name} := {value.source})", name

    # --- expressions -------------------------------------------------------------------------

    def write(self, expression: ast.Expression) -> Code:
        """The value of an expression."""
        match expression:
            case ast.Constant():
                return self._constant(expression)
            case ast.Variable():
                return bind_attribute(self, expression)
            case ast.EventReference():
                return Code(bind_event(self, expression), OBJECT)
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
                return self._call(expression)

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
            return Code(f"({bind_event(self, operand)} is None)", BOOL, nullable=False)
        return Code(f"({self.write(operand).source} is None)", BOOL, nullable=False)

    def _in_table(self, expression: ast.InTable) -> Code:
        from lockstep.operators.expressions.membership import compile_membership

        contains = compile_membership(expression, self.scope, self.context)
        return Code(f"{self.constant(contains)}(e)", BOOL, nullable=False)

    def _call(self, call: ast.FunctionCall) -> Code:
        if self.with_aggregators:
            maker = make_aggregator(call, self.scope, self.context)
            if maker is not None:
                return self._aggregate(call, maker)
        if call.namespace is None and call.name == "eventTimestamp":
            return event_timestamp(self, call)
        if call.namespace is None and call.name == "currentTimeMillis":
            return Code(f"{self.constant(self.context.now_ms)}()", LONG, nullable=False)
        return call_function(self, call)

    def _aggregate(
        self, call: ast.FunctionCall, made: tuple[AggregatorMaker, AttributeType]
    ) -> Code:
        maker, type_ = made
        index = self._first_aggregator + len(self.makers)
        if not self._feeds:
            self.makers.append(maker)
            self.calls.append(call)
            return Code(f"g[{index}].value()", type_)
        values = [self.write(argument).source for argument in call.arguments]
        arguments = ", ".join(values)
        index = self._first_aggregator + len(self.makers)
        self.makers.append(maker)
        aggregator, result = self.temp(), self.temp()
        self._statements += [
            f"{aggregator} = g[{index}]",
            "if e.kind == 0:",
            f"    {aggregator}.add({arguments})",
            "else:",
            f"    {aggregator}.remove({arguments})",
            f"{result} = {aggregator}.value()",
        ]
        return Code(result, type_, atom=True)
