"""Values of parameters: which fit, and how they are written in SiddhiQL.

Whoever gives a value may not write apps, so a value never becomes more than one literal, or a part
of one.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Final

from lockstep.siddhiql.durations import duration_ms
from lockstep.templates.errors import TemplateError

Value = str | int | float | bool
MAX_CHARACTERS: Final = 1_000
"""Of a value."""
_WHOLE: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_REAL: Final = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_DURATION: Final = re.compile(r"\d{1,15} ?[a-zA-Z]{1,12}( \d{1,15} ?[a-zA-Z]{1,12})*", re.ASCII)
_NO_TEXT: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_REFERENCES: Final = ("${", "{{")


class Kind(StrEnum):
    """The types of parameters: SiddhiQL's, and `time` for a duration such as `5 min`."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BOOL = "bool"
    TIME = "time"


_LIMITS: Final = {Kind.INT: 2**31, Kind.LONG: 2**63}
NUMBERS: Final = frozenset({Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE})
EXAMPLES: Final[dict[Kind, Value]] = {
    Kind.STRING: "text", Kind.INT: 1, Kind.LONG: 1, Kind.FLOAT: 1.0, Kind.DOUBLE: 1.0,
    Kind.BOOL: True, Kind.TIME: "1 min",
}  # fmt: skip
"""With which a template is tried that has no default."""


def read(kind: Kind, given: Value, where: str) -> Value:
    """A value of that kind, out of a form's text or as JSON has it; TemplateError."""
    text = str(given).lower() if isinstance(given, bool) else str(given)
    if len(text) > MAX_CHARACTERS:
        raise TemplateError(f"has more than {MAX_CHARACTERS} characters", where=where)
    if kind is Kind.STRING:
        return _text(text, where)
    text = text.strip()
    if kind is Kind.BOOL:
        if text.lower() not in ("true", "false"):
            raise _misfit(text, kind, where, "true or false")
        return text.lower() == "true"
    if kind is Kind.TIME:
        return _duration(text, where)
    if kind in _LIMITS:
        return _whole(text, kind, where)
    number = float(text) if _REAL.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise _misfit(text, kind, where, "a number such as 1.5")
    return number


def literal(kind: Kind, value: Value) -> str:
    """As an expression has it, with room around it, so that it joins with nothing."""
    if kind is Kind.STRING:
        text = str(value)
        if "'" not in text and '"' not in text:
            return f" '{text}' "
        return f' "{text}" ' if '"' not in text else f' """{text}""" '
    if kind is Kind.BOOL:
        return f" {str(value).lower()} "
    suffix = {Kind.LONG: "L", Kind.FLOAT: "f"}.get(kind, "")
    return f" {value}{suffix} "


def within(value: Value, quote: str) -> str | None:
    """As a part of a text that these quotes enclose; None where it does not fit."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    forbidden = {"'": "'\"", '"': '"', '"""': '"'}[quote]
    return None if any(one in text for one in forbidden) else text


def _text(text: str, where: str) -> str:
    if _NO_TEXT.search(text):
        raise TemplateError("has a line break or another control character in it", where=where)
    for one in _REFERENCES:
        if one in text:
            raise TemplateError(
                f"has {one!r} in it, which would refer to something else", where=where
            )
    if '"' in text and ('"""' in text or text.endswith('"') or text.startswith('"')):
        raise TemplateError("has quotation marks that no text can have", where=where)
    return text


def _duration(text: str, where: str) -> str:
    try:
        if not _DURATION.fullmatch(text) or duration_ms(text) < 1:
            raise ValueError
    except ValueError:
        raise _misfit(text, Kind.TIME, where, "a duration such as 5 min") from None
    return text


def _whole(text: str, kind: Kind, where: str) -> int:
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not -_LIMITS[kind] < number < _LIMITS[kind]:
        raise _misfit(text, kind, where, f"a whole number below {_LIMITS[kind]}")
    return number


def _misfit(text: str, kind: Kind, where: str, wanted: str) -> TemplateError:
    return TemplateError(f"{text!r} is no {kind.value}", where=where, hint=wanted)
