"""Java's arithmetic in Python: wrapping integers, 32-bit floats, truncating division, value texts.

Source: grammar 13.2. All functions take non-null operands; a null result is None.
"""

from __future__ import annotations

import math
import struct
from typing import Any

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

_pack = struct.Struct("f").pack
_unpack = struct.Struct("f").unpack


def wrap_int(value: int) -> int:
    """The value as a 32-bit signed integer, overflow wrapped."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def wrap_long(value: int) -> int:
    """The value as a 64-bit signed integer, overflow wrapped."""
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def f32(value: float) -> float:
    """The nearest 32-bit float; beyond its range an infinity."""
    try:
        return float(_unpack(_pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def divide_integers(left: int, right: int) -> int | None:
    """Division towards zero; by zero None."""
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder_integers(left: int, right: int) -> int | None:
    """Remainder with the sign of the dividend; by zero None."""
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_floats(left: float, right: float) -> float | None:
    """Division; by zero None (no infinity)."""
    return None if right == 0 else left / right


def remainder_floats(left: float, right: float) -> float | None:
    """Remainder with the sign of the dividend; by zero None."""
    if right == 0:
        return None
    if math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def divide_f32(left: float, right: float) -> float | None:
    """divide_floats rounded to 32 bits."""
    return None if right == 0 else f32(left / right)


def remainder_f32(left: float, right: float) -> float | None:
    """remainder_floats rounded to 32 bits."""
    rest = remainder_floats(left, right)
    return None if rest is None else f32(rest)


def divide_ints(left: int, right: int) -> int | None:
    """divide_integers wrapped to 32 bits (INT_MIN / -1)."""
    quotient = divide_integers(left, right)
    return None if quotient is None else wrap_int(quotient)


def divide_longs(left: int, right: int) -> int | None:
    """divide_integers wrapped to 64 bits."""
    quotient = divide_integers(left, right)
    return None if quotient is None else wrap_long(quotient)


def _float_digits(value: float, single: bool) -> str:
    if single:
        # The shortest decimal text that reads back as the same 32-bit float.
        for precision in range(1, 10):
            text = f"{value:.{precision}g}"
            if f32(float(text)) == value:
                return text
    return repr(value)


def float_text(value: float, single: bool = False) -> str:
    """A double (or float) as Java prints it: 1.0, 1.0E10, 1.0E-5, NaN, Infinity."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    magnitude = abs(value)
    if magnitude == 0:
        return sign + "0.0"
    digits, _, exponent_text = _float_digits(magnitude, single).lower().partition("e")
    whole, _, fraction = digits.partition(".")
    exponent = int(exponent_text or 0) + len(whole)
    significant = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(significant)
    significant = significant.rstrip("0") or "0"
    if 1e-3 <= magnitude < 1e7:
        if exponent <= 0:
            return f"{sign}0.{'0' * -exponent}{significant}"
        padded = significant.ljust(exponent, "0")
        return f"{sign}{padded[:exponent]}.{padded[exponent:] or '0'}"
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{exponent - 1}"


def key(value: Any) -> Any:
    """A value, or a tuple of values, as a key of a dict: all NaN are one key, as in Java's maps,
    although none equals another."""
    if type(value) is tuple:
        for each in value:
            if each != each or type(each) is tuple:
                return tuple(map(key, value))
        return value
    return math.nan if value != value else value


def rank(value: Any) -> tuple[bool, Any]:
    """By what a value is sorted: NaN stands behind all numbers, as in Java."""
    return (value != value, value)


def text(value: Any, single: bool = False) -> str:
    """A value as Java prints it; None is `null`, booleans are lower case."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        return float_text(value, single)
    return str(value)
