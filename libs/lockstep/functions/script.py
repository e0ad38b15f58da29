"""Functions that an app defines itself: `define function f[python] return type { body }`.

The body is the body of a function of one parameter, `data`, the list of the argument values, and
returns with `return` (grammar 6.5). It is compiled once. What it raises is an error of the event
(its chunk is dropped), and so is a result of another type than promised. Its steps are counted.
Replicas must agree, so a body may use its arguments alone: no clock, no randomness.

A body in Python (counted_script.py) is **trusted**: it runs in the process with all its rights, as
the code of the app's author; whoever may deploy code may run it. One in JavaScript (javascript.py)
runs in a machine of its own, which reaches nothing; who may deploy it is asked all the same.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, Final

from lockstep.functions.counted_script import counted
from lockstep.functions.javascript import JavaScriptError, compile_body
from lockstep.functions.returned import returned
from lockstep.operators.errors import EventError
from lockstep.operators.limits import LimitError
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError

Body = Callable[[list[Any]], Any]


def compile_script(definition: ast.FunctionDefinition) -> Callable[..., Any]:
    """The function, with its arguments by position. Raises SiddhiQLError for a body that cannot be
    compiled."""
    body = _compiled(definition)
    where = f"function {definition.name}"

    def refusal(what: str) -> EventError:
        return EventError(what, where=where)

    def script(*values: Any) -> Any:
        try:
            result = body(list(values))
        except (LimitError, MemoryError):
            raise
        except JavaScriptError as error:
            raise EventError(str(error), where=where) from error
        except Exception as error:  # whatever the author's code does is the event's error
            raise EventError(f"{type(error).__name__}: {error}", where=where) from error
        return returned(definition.returns, result, where, refusal)

    return script


def check_script(definition: ast.FunctionDefinition) -> None:
    """Raises SiddhiQLError for a language that is not run here and for a body that is none of its
    language."""
    _compiled(definition)


def _compiled(definition: ast.FunctionDefinition) -> Body:
    compiler = LANGUAGES.get(definition.language.lower())
    if compiler is None:
        raise SiddhiQLError(
            f"function {definition.name} is written in {definition.language!r}",
            line=definition.at.line,
            column=definition.at.column,
            hint="Lockstep runs functions written in [python] or [javascript]",
        )
    return compiler(definition)


def _python(definition: ast.FunctionDefinition) -> Body:
    body = textwrap.indent(inspect.cleandoc(definition.body) or "pass", "    ")
    source = f"def script(data):\n{body}\n"
    try:
        code, namespace, steps = counted(source, f"<function {definition.name}>")
    except (SyntaxError, ValueError) as error:
        raise _no_code(definition, "Python", error) from error
    exec(code, namespace)  # trusted: see the module's text
    function: Body = namespace["script"]

    def run(data: list[Any]) -> Any:
        steps.begin()
        result = function(data)
        steps.check()
        return result

    return run


def _javascript(definition: ast.FunctionDefinition) -> Body:
    try:
        return compile_body(definition.name, definition.body)
    except JavaScriptError as error:
        raise _no_code(definition, "JavaScript", error) from error


LANGUAGES: Final[dict[str, Callable[[ast.FunctionDefinition], Body]]] = {
    "python": _python,
    "javascript": _javascript,
}


def _no_code(definition: ast.FunctionDefinition, language: str, error: Exception) -> SiddhiQLError:
    return SiddhiQLError(
        f"the body of function {definition.name} is no {language}: {error}",
        line=definition.at.line,
        column=definition.at.column,
    )
