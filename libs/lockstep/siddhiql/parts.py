"""Lists and maps as options hold them: `a, b` and `name=value, name=value`."""

from __future__ import annotations


def parts(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def pairs(text: str, between: str) -> list[tuple[str, str]]:
    """`name<between>value` with commas in between; ValueError holds the part that is none."""
    found = []
    for part in parts(text):
        name, sign, value = (piece.strip() for piece in part.partition(between))
        if not sign or not name:
            raise ValueError(part)
        found.append((name, value))
    return found
