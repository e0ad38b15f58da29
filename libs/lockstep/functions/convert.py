"""Conversion between the types of the language as Java does it (semantics 21, `convert`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lockstep.events import AttributeType
from lockstep.plan import java

INT, LONG = AttributeType.INT, AttributeType.LONG
FLOAT, DOUBLE = AttributeType.FLOAT, AttributeType.DOUBLE
STRING, BOOL, OBJECT = AttributeType.STRING, AttributeType.BOOL, AttributeType.OBJECT

CLASSES: Final[Mapping[AttributeType, type]] = {
    BOOL: bool,
    DOUBLE: float,
    FLOAT: float,
    INT: int,
    LONG: int,
    STRING: str,
}
"""Of the values of each type in Python; an object's may be any."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST = 19
"""Digits of a long."""

_DECIMAL = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_WHITE = "".join(map(chr, range(33)))
"""What Java trims off numbers: the space and everything below it."""


def parse_integer(text: str, low: int, high: int) -> int | None:
    """The integer that the text is, or None when it is none or out of range (Java's parseInt)."""
    if _INTEGER.fullmatch(text) is None:
        return None
    if len(text) > _LONGEST:  # Python reads no text of thousands of digits
        digits = text.lstrip("+-").lstrip("0")
        if len(digits) > _LONGEST:
            return None
        text = ("-" if text[0] == "-" else "") + (digits or "0")
    value = int(text)
    return value if low <= value <= high else None


def parse_int(text: str) -> int | None:
    """A 32-bit integer or None."""
    return parse_integer(text, java.INT_MIN, java.INT_MAX)


def parse_long(text: str) -> int | None:
    """A 64-bit integer or None."""
    return parse_integer(text, java.LONG_MIN, java.LONG_MAX)


def parse_double(text: str) -> float | None:
    """The double that the text is, or None (Java's parseDouble: `1e5`, `2.5f`, `NaN`, ` 7 `)."""
    text = text.strip(_WHITE)
    if _DECIMAL.fullmatch(text) is not None:
        return float(text.rstrip("fFdD") if not text.endswith(("NaN", "Infinity")) else text)
    if _HEXADECIMAL.fullmatch(text) is not None:
        mantissa, exponent = re.split("[pP]", text)
        try:
            return float.fromhex(f"{mantissa}p{exponent.rstrip('fFdD')}")
        except OverflowError:  # what is too large is infinite, as in decimal
            return -math.inf if mantissa[0] == "-" else math.inf
    return None


def parse_float(text: str) -> float | None:
    """parse_double rounded to 32 bits."""
    value = parse_double(text)
    return None if value is None else java.f32(value)


def truncate(value: float, low: int, high: int) -> int:
    """Toward zero; out of range saturates, NaN is 0 (a narrowing cast of Java)."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(value)))


def to_int(value: float) -> int:
    """A floating value as int."""
    return truncate(value, java.INT_MIN, java.INT_MAX)


def to_long(value: float) -> int:
    """A floating value as long."""
    return truncate(value, java.LONG_MIN, java.LONG_MAX)


def float_to_text(value: float) -> str:
    """A 32-bit float as text."""
    return java.float_text(value, single=True)


def object_text(value: Any) -> str:
    """An object as Java prints it: `[1, b]`, `{k=v}`, message and cause of an exception."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{object_text(k)}={object_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(object_text(item) for item in value) + "]"
    if isinstance(value, (set, frozenset)):
        return "[" + ", ".join(sorted(object_text(item) for item in value)) + "]"
    if isinstance(value, BaseException):
        return f"message : {value}\n cause :{object_text(value.__cause__)}"
    return java.text(value)


def text_to_bool(text: str) -> bool:
    """'true' in any case; all else is false."""
    return text.lower() == "true"


def _is_one(value: float) -> bool:
    return value == 1


def _same(value: Any) -> Any:
    return value


_CONVERTERS: dict[tuple[AttributeType, AttributeType], Callable[[Any], Any]] = {
    (STRING, INT): parse_int,
    (STRING, LONG): parse_long,
    (STRING, FLOAT): parse_float,
    (STRING, DOUBLE): parse_double,
    (STRING, BOOL): text_to_bool,
    (INT, LONG): _same,
    (LONG, INT): java.wrap_int,
    (FLOAT, INT): to_int,
    (FLOAT, LONG): to_long,
    (DOUBLE, INT): to_int,
    (DOUBLE, LONG): to_long,
    (BOOL, INT): int,
    (BOOL, LONG): int,
    (INT, FLOAT): java.f32,
    (LONG, FLOAT): java.f32,
    (DOUBLE, FLOAT): java.f32,
    (BOOL, FLOAT): float,
    (INT, DOUBLE): float,
    (LONG, DOUBLE): float,
    (FLOAT, DOUBLE): _same,
    (BOOL, DOUBLE): float,
    (INT, STRING): str,
    (LONG, STRING): str,
    (FLOAT, STRING): float_to_text,
    (DOUBLE, STRING): java.float_text,
    (BOOL, STRING): java.text,
    (OBJECT, STRING): object_text,
    (INT, BOOL): _is_one,
    (LONG, BOOL): _is_one,
    (FLOAT, BOOL): _is_one,
    (DOUBLE, BOOL): _is_one,
}


def converter(own: AttributeType, wanted: AttributeType) -> Callable[[Any], Any]:
    """The function from values of one type to another; takes no null, may give null."""
    if own is wanted:
        return _same
    return _CONVERTERS.get((own, wanted), lambda value: None)


def text_of(own: AttributeType) -> Callable[[Any], str]:
    """The function from values of a type, null included, to their text."""
    if own is FLOAT:
        return lambda value: "null" if value is None else java.float_text(value, single=True)
    return object_text
