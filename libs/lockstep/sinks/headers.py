"""Headers that an option of a sink or source names."""

from __future__ import annotations


def headers_of(text: str) -> dict[str, str]:
    """`'Key:value','Key2:value'` as a mapping."""
    parts = (part.strip().strip("'\"").partition(":") for part in text.split(","))
    return {name.strip(): value.strip() for name, colon, value in parts if colon}
