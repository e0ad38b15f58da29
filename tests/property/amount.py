"""How many examples a property is tried on."""

from __future__ import annotations

import os
from typing import Final

LEAST: Final = 20
_PERCENT: Final = int(os.environ.get("EXAMPLES", "100"))


def examples(whole: int) -> int:
    """`EXAMPLES` percent of what is usual. Each run draws others."""
    return max(min(whole, LEAST), whole * _PERCENT // 100)
