"""The functions by (namespace or "", name); a factory binds one to its call's arguments.

A function takes the argument values by position, null as None. What it cannot process it refuses
with EventError: then the chunk is dropped (semantics 18).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lockstep.functions.plugins import extended
from lockstep.operators.contract import Context
from lockstep.siddhiql.catalogue import Argument

FunctionFactory = Callable[[Sequence[Argument], Context], Callable[..., Any]]

_OWN: dict[tuple[str, str], FunctionFactory] = {}
for _folder in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
    if _folder.ispkg:
        _OWN.update(import_module(f"{_folder.name}.meaning").FUNCTIONS)

FUNCTIONS = extended(_OWN, "FUNCTIONS")
"""Ours, and those of installed extensions."""
