"""Rows and conditions with aggregators: the generated function feeds those of the event's group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.aggregators.contract import Aggregator
from lockstep.aggregators.registry import aggregators
from lockstep.expressions.code import Code
from lockstep.expressions.compiler import load
from lockstep.expressions.writer import Writer
from lockstep.operators.contract import Context
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import arguments_of, infer

AggregatorMaker = Callable[[], Aggregator]


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """A select list as one function of (event, aggregators of the group) that gives the row.

    `makers` build the aggregators of a group, in the order in which the function uses them. Running
    the function feeds them: CURRENT adds, EXPIRED removes.
    """

    function: Callable[[Any, list[Any]], tuple[Any, ...]]
    makers: tuple[AggregatorMaker, ...]


class _Feeding(Writer):
    """Writes aggregator calls too: each is fed in front of the expression it stands in. `makers`
    build them, the first under `first_aggregator` in the group's list."""

    def __init__(self, scope: Scope, context: Context, first_aggregator: int = 0) -> None:
        super().__init__(scope, context)
        self.makers: list[AggregatorMaker] = []
        self.calls: list[ast.FunctionCall] = []
        self._first = first_aggregator

    def call(self, call: ast.FunctionCall) -> Code:
        make = maker_of(call, self.scope, self.context)
        if make is None:
            return super().call(call)
        index = self._first + len(self.makers)
        self.calls.append(call)
        return self.aggregate(call, make, index)

    def aggregate(self, call: ast.FunctionCall, make: AggregatorMaker, index: int) -> Code:
        """The value of the aggregator at an index of the group's list."""
        arguments = ", ".join(self.write(argument).source for argument in call.arguments)
        self.makers.append(make)
        aggregator, result = self.temp(), self.temp()
        self.statements += [
            f"{aggregator} = g[{index}]",
            "if e.kind == 0:",
            f"    {aggregator}.add({arguments})",
            "else:",
            f"    {aggregator}.remove({arguments})",
            f"{result} = {aggregator}.value()",
        ]
        return Code(result, infer(call, self.scope), atom=True)


class _Reading(_Feeding):
    """Writes aggregator calls that only read what others feed."""

    def aggregate(self, call: ast.FunctionCall, make: AggregatorMaker, index: int) -> Code:
        self.makers.append(make)
        return Code(f"g[{index}].value()", infer(call, self.scope))


def maker_of(call: ast.FunctionCall, scope: Scope, context: Context) -> AggregatorMaker | None:
    """What makes the aggregator that the call names, or None if it names none."""
    known = aggregators(is_siddhi_5_1=context.is_siddhi_5_1)
    factory = known.get((call.namespace or "", call.name))
    if factory is None:
        return None
    arguments = arguments_of(call, scope)
    return lambda: factory(arguments)


def compile_row(
    expressions: Sequence[ast.Expression],
    scope: Scope,
    context: Context,
    *,
    first_aggregator: int = 0,
) -> CompiledRow:
    """The expressions as a tuple; aggregators in them become steps on the group's aggregators.

    `first_aggregator` is the index of this row's first aggregator in the group's list.
    """
    writer = _Feeding(scope, context, first_aggregator)
    items = [writer.write(expression).source for expression in expressions]
    result = f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return CompiledRow(load(writer, "e, g", result), tuple(writer.makers))


def compile_selection(
    selection: Sequence[ast.OutputAttribute], scope: Scope, context: Context
) -> CompiledRow:
    """A select list."""
    return compile_row([item.expression for item in selection], scope, context)


def compile_output_condition(
    expression: ast.Expression, scope: Scope, context: Context, *, first_aggregator: int = 0
) -> tuple[Callable[[Any, tuple[Any, ...], list[Any]], bool], tuple[AggregatorMaker, ...]]:
    """A `having` condition on (event, output row, aggregators of the group), and its
    aggregators.
    """
    writer = _Feeding(scope, context, first_aggregator)
    return load(writer, "e, o, g", writer.truth(expression)), tuple(writer.makers)


def compile_running_condition(
    expression: ast.Expression, scope: Scope, context: Context
) -> tuple[CompiledRow, Callable[[Any, list[Any]], bool]]:
    """A condition apart from its aggregators: a row that feeds them, and the test that only reads
    them.
    """
    writer = _Reading(scope, context)
    test = load(writer, "e, g", writer.truth(expression))
    return compile_row(writer.calls, scope, context), test
