"""What a list, map, set or document keeps of a value.

It does not know that a number is a `float`, so it gets the double that prints as the float does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.nulls import Factory
from lockstep.operators.contract import Context
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument

Keep = Callable[[Any], Any]


def keeper(argument: Argument) -> Keep:
    """What turns the argument's values into those that are kept, or looked for among them."""
    return _printed if argument.type is AttributeType.FLOAT else _same


def _printed(value: Any) -> Any:
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return float(java.float_text(value, single=True))


def _same(value: Any) -> Any:
    return value


def taking(function: Callable[..., Any]) -> Factory:
    """A function that gets its arguments as a collection keeps them, and deals with null itself."""

    def made(arguments: Sequence[Argument], context: Context) -> Callable[..., Any]:
        keepers = [keeper(argument) for argument in arguments]
        if _printed not in keepers:
            return function

        def taken(*values: Any) -> Any:
            return function(*(keep(value) for keep, value in zip(keepers, values, strict=True)))

        return taken

    return made
