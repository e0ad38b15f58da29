"""Bodies of functions in JavaScript: their arguments as literals, their results as values.

A body is that of a JavaScript function `name(data)`, not strict, as the older products ran it.
Numbers are JavaScript's; an integer beyond 2^53, which a number would round, comes in as a BigInt.
Maps and lists come in as objects and arrays and go out as maps and lists. The machine that runs it
is javascript_engine.py; what it may not have is taken away in javascript_prelude.js.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, Final

from lockstep.operators.limits import LimitError, limits

SAFE_MAX: Final = 2**53 - 1
"""The largest integer that a number of JavaScript holds exactly, as every smaller one."""

_PRELUDE: Final = resources.files("lockstep.functions").joinpath("javascript_prelude.js")
_OUT_OF_MEMORY: Final = "InternalError: out of memory"


class JavaScriptError(Exception):
    """What a body threw, or what is wrong with its text."""


def compile_body(name: str, body: str) -> Callable[[list[Any]], Any]:
    """The function. JavaScriptError for a body that is no JavaScript."""
    # The machine is a compiler of WebAssembly, which most processes never need.
    from lockstep.functions.javascript_engine import Machine, ProgramRefusedError

    prelude = _PRELUDE.read_text("utf-8")
    try:
        machine = Machine(f"{prelude}({json.dumps(name)}, {json.dumps(body)})")
    except ProgramRefusedError as error:
        raise JavaScriptError(str(error).removeprefix("!")) from error

    def function(data: list[Any]) -> Any:
        return _value(machine.call(f"__lockstep_run({literal(data)})"))

    return function


def literal(value: Any) -> str:
    """A value as JavaScript writes it. JavaScriptError for one that it has no form for."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if -SAFE_MAX <= value <= SAFE_MAX else f"{value}n"
        case float():
            return repr(value) if math.isfinite(value) else _NOT_FINITE[str(value)]
        case str():
            return json.dumps(value)
        case list() | tuple():
            return f"[{','.join(map(literal, value))}]"
        case Mapping():
            pairs = (f"[{json.dumps(str(key))}]:{literal(one)}" for key, one in value.items())
            return f"{{{','.join(pairs)}}}"
    raise JavaScriptError(f"JavaScript has no form for an argument of type {type(value).__name__}")


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _value(told: str) -> Any:
    kind, text = told[:1], told[1:]
    match kind:
        case "z":
            return None
        case "b":
            return text == "1"
        case "i":
            return int(text)
        case "d":
            return float(text)
        case "s":
            return text
        case "o":
            return json.loads(text)
    if not text or text == _OUT_OF_MEMORY:
        most = limits().function_bytes
        raise LimitError(f"a function takes more than {most} bytes (limits.function_bytes)")
    raise JavaScriptError(text)
