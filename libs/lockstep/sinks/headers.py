"""Headers that an option of a sink or source names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_ONE_ATTRIBUTE: Final = re.compile(r"\s*\{\{\w+\}\}\s*")


def headers_of(text: str) -> dict[str, str]:
    """`'Key:value','Key2:value'` as a mapping."""
    parts = (part.strip().strip("'\"").partition(":") for part in text.split(","))
    return {name.strip(): value.strip() for name, colon, value in parts if colon}


def lost_part(text: str) -> str | None:
    """A part that `headers_filled` drops although it holds a value of an event, or None."""
    if _ONE_ATTRIBUTE.fullmatch(text):
        return None
    parts = (part.strip() for part in text.split(","))
    return next((part for part in parts if "{{" in part and ":" not in part), None)


def headers_filled(text: str, fill: Callable[[str], str]) -> dict[str, str]:
    """The same with the values of an event, see `Message.fill`; these are taken as they are, so no
    value makes a header of its own. One attribute alone may hold all headers."""
    if _ONE_ATTRIBUTE.fullmatch(text):
        return headers_of(fill(text))
    return {fill(name): fill(value) for name, value in headers_of(text).items()}
