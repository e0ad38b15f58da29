"""The functions by (namespace or "", name); a factory binds one to its call's arguments.

A function takes the argument values by position, null as None. What it cannot process it refuses
with EventError: then the chunk is dropped (semantics 18).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.functions import (
    core,
    json_pack,
    list_pack,
    map_pack,
    math_pack,
    regex_pack,
    string_pack,
    time_pack,
)
from lockstep.functions.plugins import extended
from lockstep.operators.contract import Context
from lockstep.siddhiql.catalogue import Argument

FunctionFactory = Callable[[Sequence[Argument], Context], Callable[..., Any]]

_OWN: dict[tuple[str, str], FunctionFactory] = {
    **core.FUNCTIONS,
    **string_pack.FUNCTIONS,
    **math_pack.FUNCTIONS,
    **regex_pack.FUNCTIONS,
    **time_pack.FUNCTIONS,
    **json_pack.FUNCTIONS,
    **list_pack.FUNCTIONS,
    **map_pack.FUNCTIONS,
}

FUNCTIONS = extended(_OWN, "FUNCTIONS")
"""Ours, and those of installed extensions."""
