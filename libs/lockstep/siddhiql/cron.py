"""Whether a text is a Quartz cron expression: six or seven fields, seconds first (grammar 6.4)."""

from __future__ import annotations

import re

_MONTHS = [
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("seconds", 0, 59, []),
    ("minutes", 0, 59, []),
    ("hours", 0, 23, []),
    ("day of month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of week", 1, 7, _WEEKDAYS),
    ("year", 1970, 2099, []),
)
_RANGE = re.compile(r"([A-Z0-9]+)(?:-([A-Z0-9]+))?(?:/(\d+))?")
_STAR = re.compile(r"\*(?:/\d+)?|\?")
_SPECIAL_DAY = re.compile(r"L(?:-\d{1,2})?|LW|\d{1,2}W")
_SPECIAL_WEEKDAY = re.compile(r"L|[1-7]L|(?:SUN|MON|TUE|WED|THU|FRI|SAT)L|\w{1,3}#[1-5]")


def check_cron(expression: str) -> str | None:
    """What is wrong with the expression, to stand behind its name in a sentence, or None."""
    fields = expression.upper().split()
    if len(fields) not in (6, 7):
        return f"has {len(fields)} fields instead of 6 or 7"
    for text, (name, low, high, words) in zip(fields, _FIELDS, strict=False):
        for part in text.split(","):
            if not _fits(part, name, low, high, words):
                return f"has {part!r} as {name}"
    return None


def _fits(part: str, name: str, low: int, high: int, words: list[str]) -> bool:
    if _STAR.fullmatch(part):
        return part != "?" or name in ("day of month", "day of week")
    if name == "day of month" and _SPECIAL_DAY.fullmatch(part):
        return True
    if name == "day of week" and _SPECIAL_WEEKDAY.fullmatch(part):
        return True
    found = _RANGE.fullmatch(part)
    if found is None:
        return False
    return all(
        value in words or (value.isdigit() and low <= int(value) <= high)
        for value in found.groups()[:2]
        if value is not None
    )
