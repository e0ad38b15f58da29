"""Compiles expressions without aggregators against scopes: one generated function each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from lockstep.events import AttributeType
from lockstep.expressions.slots import Locals
from lockstep.expressions.writer import Writer
from lockstep.operators.contract import Context
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope


@lru_cache(maxsize=4096)
def _code(source: str) -> CodeType:
    return compile(source, "<siddhiql>", "exec")


def load(writer: Locals, parameters: str, result: str) -> Callable[..., Any]:
    """The function that returns what a source says, with what the writer collected."""
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
    return load(writer, "e", writer.write(expression).source)


def compile_condition(
    expression: ast.Expression, scope: Scope, context: Context
) -> Callable[[Any], bool]:
    """True only when the expression is exactly true for an event of the scope's shape."""
    writer = Writer(scope, context)
    return load(writer, "e", writer.truth(expression))


def compile_output_value(
    expression: ast.Expression, scope: Scope, context: Context
) -> Callable[[Any, tuple[Any, ...]], Any]:
    """An expression of (event, output row), without aggregators."""
    writer = Writer(scope, context)
    return load(writer, "e, o", writer.write(expression).source)


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
    return load(writer, "e", parts[0] if len(parts) == 1 else f"({', '.join(parts)})")
