"""Compiles expressions against scopes: one generated function per expression, row or condition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from lockstep.events import AttributeType
from lockstep.operators.contract import Context
from lockstep.operators.expressions.writer import AggregatorMaker, Writer
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """A select list as one function of (event, aggregators of the group) that gives the row.

    `makers` build the aggregators of a group, in the order in which the function uses them. Running
    the function feeds them: CURRENT adds, EXPIRED removes.
    """

    function: Callable[[Any, list[Any]], tuple[Any, ...]]
    makers: tuple[AggregatorMaker, ...]


@lru_cache(maxsize=4096)
def _code(source: str) -> CodeType:
    return compile(source, "<siddhiql>", "exec")


def _load(writer: Writer, parameters: str, result: str) -> Callable[..., Any]:
    source = writer.function_source(parameters, result)
    namespace = dict(writer.namespace)
    exec(_code(source), namespace)
    function: Callable[..., Any] = namespace["function"]
    return function


def compile_expression(
    expression: ast.Expression, scope: Scope, context: Context
) -> Callable[[Any], Any]:
    """The expression's value for an event of the scope's shape."""
    writer = Writer(scope, context)
    return _load(writer, "e", writer.write(expression).source)


def compile_condition(
    expression: ast.Expression, scope: Scope, context: Context
) -> Callable[[Any], bool]:
    """True only when the expression is exactly true for an event of the scope's shape."""
    writer = Writer(scope, context)
    return _load(writer, "e", writer.truth(expression))


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
    writer = Writer(scope, context, first_aggregator=first_aggregator, with_aggregators=True)
    items = [writer.write(expression).source for expression in expressions]
    result = f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return CompiledRow(_load(writer, "e, g", result), tuple(writer.makers))


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
    writer = Writer(scope, context, first_aggregator=first_aggregator, with_aggregators=True)
    return _load(writer, "e, o, g", writer.truth(expression)), tuple(writer.makers)


def compile_output_value(
    expression: ast.Expression, scope: Scope, context: Context
) -> Callable[[Any, tuple[Any, ...]], Any]:
    """An expression of (event, output row), without aggregators."""
    writer = Writer(scope, context)
    return _load(writer, "e, o", writer.write(expression).source)


def compile_key(
    group_by: Sequence[ast.Variable], scope: Scope, context: Context
) -> Callable[[Any], Hashable]:
    """The group key of an event: the value, or a tuple of the values.

    Null and the text 'null' are one group, and so are equal texts of floating values (semantics 5).
    """
    writer = Writer(scope, context)
    parts = []
    for variable in group_by:
        value = writer.write(variable)
        if value.type is AttributeType.STRING:
            parts.append(f"('null' if {value.source} is None else {value.source})")
        elif value.type is AttributeType.OBJECT:
            parts.append(f"str({value.source})")
        elif value.type in (AttributeType.FLOAT, AttributeType.DOUBLE):
            parts.append(f"repr({value.source})")
        else:
            parts.append(value.source)
    return _load(writer, "e", parts[0] if len(parts) == 1 else f"({', '.join(parts)})")


def compile_running_condition(
    expression: ast.Expression, scope: Scope, context: Context
) -> tuple[CompiledRow, Callable[[Any, list[Any]], bool]]:
    """A condition apart from its aggregators: a row that feeds them, and the test that only reads
    them.
    """
    writer = Writer(scope, context, with_aggregators=True, feeds=False)
    test = _load(writer, "e, g", writer.truth(expression))
    return compile_row(writer.calls, scope, context), test
