"""Numbers that come in other forms than attributes have, and those that JSON has not."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from lockstep.functions import json_documents
from lockstep.mapping.contract import MappingError
from lockstep.plan import java


def whole(value: Decimal) -> int:
    """A decimal without a fraction; MappingError for one that has one."""
    number = int(value)
    if number != value:
        raise MappingError(f"{value} is no whole number")
    return number


def finite(value: Any) -> Any:
    """Any value but NaN and infinities: objects are kept as JSON, which has none."""
    if isinstance(value, float) and not math.isfinite(value):
        raise MappingError(f"an object cannot hold {value}")
    return value


def as_json(value: Any, *, single: bool) -> str:
    """The JSON of a value of an event, a float's shorter where it is `single`; MappingError for NaN
    and infinities, within objects, too: JSON has none."""
    if isinstance(value, float):
        return java.float_text(_number(value), single)
    level = [] if isinstance(value, (str, int)) else [value]
    while level := [inner for each in level for inner in _inside(each)]:
        for each in level:
            _number(each)
    return json_documents.text(value)


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise MappingError(f"JSON has no {java.text(value)}")
    return value


def _inside(value: Any) -> Collection[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()
