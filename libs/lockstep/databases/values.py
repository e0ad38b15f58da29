"""Values of databases: as JSON can say them, and whether an attribute can hold them."""

from __future__ import annotations

import math
from typing import Any, Final

from lockstep.events import AttributeType

_BITS: Final = {AttributeType.INT: 31, AttributeType.LONG: 63}


def is_within(number: Any, wanted: AttributeType) -> bool:
    """Whether a whole number is one that an int or a long can hold."""
    bits = _BITS[wanted]
    return bool(-(1 << bits) <= number < 1 << bits)


def plain(value: Any) -> Any:
    """As JSON can say it: other types as people write them, times in ISO 8601, bytes in hex."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
