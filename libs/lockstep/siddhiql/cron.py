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
_VALUE = "[A-Z0-9]{1,9}"
_STEP = r"(?:/0{0,8}[1-9]\d{0,8})?"
_RANGE = re.compile(f"({_VALUE})(?:-({_VALUE}))?{_STEP}", re.ASCII)
_STAR = re.compile(rf"\*{_STEP}|\?", re.ASCII)
_SPECIAL_DAY = re.compile(r"L(?:-\d{1,2})?|LW|(?:0?[1-9]|[12]\d|3[01])W", re.ASCII)
_SPECIAL_WEEKDAY = re.compile(rf"L|(?:[1-7]|{'|'.join(_WEEKDAYS)})(?:L|#[1-5])")


def check_cron(expression: str) -> str | None:
    """What is wrong with the expression, to stand behind its name in a sentence, or None.

    What passes has a schedule (operators.cron), so nothing is left to go wrong when it starts.
    """
    fields = expression.upper().split()
    if len(fields) not in (6, 7):
        return f"has {len(fields)} fields instead of 6 or 7"
    for text, (name, low, high, words) in zip(fields, _FIELDS, strict=False):
        if _is_special(text, name):
            continue
        for part in text.split(","):
            if not _fits(part, name, low, high, words):
                return f"has {part!r} as {name}" + _alone(part, name)
    return None


def _is_special(text: str, name: str) -> bool:
    """Whether the text is one of the forms of days that only a calendar tells."""
    if name == "day of month":
        return _SPECIAL_DAY.fullmatch(text) is not None
    return name == "day of week" and _SPECIAL_WEEKDAY.fullmatch(text) is not None


def _alone(part: str, name: str) -> str:
    """What is to be said of a part that would be right without others."""
    return ", which has to stand alone" if _is_special(part, name) else ""


def _fits(part: str, name: str, low: int, high: int, words: list[str]) -> bool:
    if _STAR.fullmatch(part):
        return part != "?" or name in ("day of month", "day of week")
    found = _RANGE.fullmatch(part)
    if found is None:
        return False
    return all(
        value in words or (value.isdigit() and low <= int(value) <= high)
        for value in found.groups()
        if value is not None
    )
