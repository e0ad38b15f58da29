"""Values as words of a test's call line."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+-]+")


def word(value: Any) -> str:
    """What `lockstep test` reads as that value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str() if not _PLAIN.fullmatch(value) or value in ("null", "true", "false"):
            return f'"{value}"' if "'" in value else f"'{value}'"
        case str() | int() | float():
            return str(value)
        case _:
            return json.dumps(value)
