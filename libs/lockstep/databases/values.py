"""Values of databases as JSON can say them."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """As JSON can say it: other types as people write them, times in ISO 8601, bytes in hex."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
