"""Functions that an app defines itself: `define function f[python] return type { body }`.

The body is the body of a Python function of one parameter, `data`, the list of the argument values,
and returns with `return` (grammar 6.5). It is compiled once. It is **trusted**: it runs in the
process with all its rights, as the code of the app's author; whoever may deploy apps may run code.
What it raises is an error of the event (its chunk is dropped), and so is a result of another type
than promised. Its steps are counted (counted_script.py). Replicas must agree, so a body may use its
arguments alone: no clock, no randomness.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sized
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.convert import converter
from lockstep.functions.counted_script import Steps, counted
from lockstep.operators.errors import EventError
from lockstep.operators.limits import LimitError, check_size
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError

LANGUAGES = ("python",)


def compile_script(definition: ast.FunctionDefinition) -> Callable[..., Any]:
    """The function, with its arguments by position. Raises SiddhiQLError for what is no Python."""
    body, steps = _compiled(definition)

    def script(*values: Any) -> Any:
        steps.begin()
        try:
            result = body(list(values))
        except (LimitError, MemoryError):
            raise
        except Exception as error:  # whatever the author's code does is the event's error
            raise EventError(
                f"{type(error).__name__}: {error}",
                where=f"function {definition.name}",
            ) from error
        steps.check()
        if isinstance(result, Sized):
            check_size(len(result), f"function {definition.name}")
        return _checked(definition, result)

    return script


def check_script(definition: ast.FunctionDefinition) -> None:
    """Raises SiddhiQLError for another language than Python and for a body that is no Python."""
    _compiled(definition)


def _compiled(
    definition: ast.FunctionDefinition,
) -> tuple[Callable[[list[Any]], Any], Steps]:
    if definition.language.lower() not in LANGUAGES:
        raise SiddhiQLError(
            f"function {definition.name} is written in {definition.language!r}",
            line=definition.at.line,
            column=definition.at.column,
            hint="Lockstep runs functions written in [python]",
        )
    body = textwrap.indent(inspect.cleandoc(definition.body) or "pass", "    ")
    source = f"def script(data):\n{body}\n"
    try:
        code, namespace, steps = counted(source, f"<function {definition.name}>")
    except (SyntaxError, ValueError) as error:
        raise SiddhiQLError(
            f"the body of function {definition.name} is no Python: {error}",
            line=definition.at.line,
            column=definition.at.column,
        ) from error
    exec(code, namespace)  # trusted: see the module's text
    function: Callable[[list[Any]], Any] = namespace["script"]
    return function, steps


def _checked(definition: ast.FunctionDefinition, result: Any) -> Any:
    wanted = definition.returns
    if result is None or wanted is AttributeType.OBJECT:
        return result
    own = _type_of(result)
    if own is wanted:
        return result
    if own.is_numeric and wanted.is_numeric:
        return converter(own, wanted)(result)
    raise EventError(
        f"returned {result!r}, which is no {wanted.value}",
        where=f"function {definition.name}",
    )


def _type_of(value: Any) -> AttributeType:
    match value:
        case bool():
            return AttributeType.BOOL
        case int():
            fits = java.INT_MIN <= value <= java.INT_MAX
            return AttributeType.INT if fits else AttributeType.LONG
        case float():
            return AttributeType.DOUBLE
        case str():
            return AttributeType.STRING
    return AttributeType.OBJECT
