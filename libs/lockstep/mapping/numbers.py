"""Numbers that come in other forms than attributes have."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from lockstep.mapping.contract import MappingError


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
