"""The functions by (namespace or "", name); a factory binds one to its call's arguments.

A function takes the argument values by position, null as None. What it cannot process it refuses
with EventError: then the chunk is dropped (semantics 18).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lockstep.functions.guarding import guarded_call
from lockstep.functions.plugins import Folders, Promised
from lockstep.operators.contract import Context
from lockstep.siddhiql.catalogue import Argument

FunctionFactory = Callable[[Sequence[Argument], Context], Callable[..., Any]]

FUNCTIONS: Mapping[tuple[str, str], FunctionFactory] = Folders(
    "lockstep.functions",
    "FUNCTIONS",
    Promised(
        ("__call__",),
        "its factory takes (arguments, context) and gives what is called for each event",
        guarded_call,
    ),
)
"""Ours, and those of installed extensions."""
