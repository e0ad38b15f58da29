"""Log lines for people: the time, the level, what happened, and where. Pure."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

_FIRST: Final = ("at_ms", "level", "message", "exception")
_LEVEL_WIDTH: Final = 7
"""Of the longest one, so that messages stand below each other."""
_OBEYED: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)
"""Controls but for tabs and line ends, changes of direction, and halves of characters."""


def readable(line: str) -> str:
    """A line of JSON as a sentence; any other as it is, but without what a terminal would obey."""
    try:
        found = json.loads(line)
    except ValueError:
        return harmless(line)
    if not isinstance(found, dict) or not isinstance(found.get("message"), str):
        return harmless(line)
    rest = [f"{key}={_value(value)}" for key, value in found.items() if key not in _FIRST]
    level = str(found["level"]).ljust(_LEVEL_WIDTH) if "level" in found else ""
    words = [_time(found.get("at_ms")), level, found["message"], *rest]
    told = " ".join(one for one in words if one)
    trace = found.get("exception")
    return harmless(f"{told}\n{trace}" if isinstance(trace, str) else told)


def _time(at_ms: Any) -> str:
    if not isinstance(at_ms, int):
        return ""
    try:
        found = datetime.fromtimestamp(at_ms / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return found.strftime("%Y-%m-%d %H:%M:%S.") + f"{at_ms % 1_000:03}"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if text and " " not in text else json.dumps(text, ensure_ascii=False)


def harmless(text: str) -> str:
    """Without what a terminal would obey, or what turns the order of letters around."""
    return _OBEYED.sub("\ufffd", text)
