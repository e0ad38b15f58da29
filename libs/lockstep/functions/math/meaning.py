"""`math:`: Java's functions on doubles; null gives null, and what has no result NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.convert import (
    parse_double,
    parse_float,
    parse_int,
    parse_long,
    to_int,
    to_long,
)
from lockstep.functions.draws import Draws, register_once
from lockstep.functions.nulls import Factory, Function, passing_null, plain
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument

_NUMERALS = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASES = range(2, len(_NUMERALS) + 1)
_MASKS = {AttributeType.INT: 2**32 - 1, AttributeType.LONG: 2**64 - 1}


def _on_doubles(function: Callable[..., float], overflow: float = math.inf) -> Factory:
    """The function on doubles; out of its domain NaN, too large `overflow`."""

    def of_doubles(*values: float) -> float:
        doubles = [float(value) for value in values]
        try:
            return float(function(*doubles))
        except ValueError:
            return math.nan
        except OverflowError:
            return overflow

    return passing_null(of_doubles)


def divide(left: float, right: float) -> float:
    """A division of doubles in Java: by zero an infinity or NaN."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _ln(x: float) -> float:
    return -math.inf if x == 0 else math.log(x)


def _log10(x: float) -> float:
    return -math.inf if x == 0 else math.log10(x)


def _sinh(x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def _power(x: float, y: float) -> float:
    if abs(x) == 1 and math.isinf(y):
        return math.nan
    if x == 1 and math.isnan(y):
        return math.nan
    odd = y == math.floor(y) and y % 2 == 1 if math.isfinite(y) else False
    if x == 0 and y < 0:
        return math.copysign(math.inf, x) if odd else math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf


def _whole(rounded: Callable[[float], int]) -> Callable[[float], float]:
    """ceil or floor as a double: infinities and NaN stay, and so does the sign of zero."""
    return lambda x: math.copysign(float(rounded(x)), x) if math.isfinite(x) else x


def _floor(x: float) -> float:
    return float(math.floor(x)) or x * 0.0 if math.isfinite(x) else x


def _smaller(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    # Of two zeros Java takes the negative one.
    return -(-x - y) if x == y == 0 else min(x, y)


def _larger(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    # Of two zeros Java takes the positive one.
    return x + y if x == y == 0 else max(x, y)


def _signum(x: float) -> int:
    return (x > 0) - (x < 0)


def _exponent(x: float) -> int:
    x = float(x)
    if not math.isfinite(x):
        return 1024
    return max(math.frexp(x)[1] - 1, -1023) if x else -1023


def _half_up(x: float) -> float:
    if not math.isfinite(x):
        return x
    whole = math.floor(x)
    return whole + 1 if x - whole >= 0.5 else whole


def _round(arguments: Sequence[Argument], context: Context) -> Function:
    narrow = to_int if arguments[0].type is AttributeType.FLOAT else to_long
    return passing_null(lambda x: narrow(_half_up(x)))(arguments, context)


def float_hex(x: float, single: bool) -> str:
    """Java's hexadecimal text of a double or float: `0x1.8p1`."""
    if not math.isfinite(x):
        return java.float_text(x)
    smallest = -126 if single else -1022
    sign, exponent = ("-" if math.copysign(1.0, x) < 0 else ""), _exponent(x)
    if exponent < smallest and x != 0:
        # Java writes subnormal numbers with a leading 0 and the smallest exponent of their kind.
        digits, bits = (6, 24) if single else (13, 52)
        scaled = int(math.ldexp(abs(x), -smallest + bits))
        return f"{sign}0x0.{format(scaled, f'0{digits}x').rstrip('0') or '0'}p{smallest}"
    mantissa, _, power = abs(x).hex().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{sign}{whole}.{fraction.rstrip('0') or '0'}p{int(power)}"


def _digits(form: str) -> Factory:
    """Two's complement digits of an int (32 bits) or long (64 bits)."""

    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        own = arguments[0].type
        mask = _MASKS.get(own)
        if mask is None:
            single = own is AttributeType.FLOAT
            return passing_null(lambda x: float_hex(x, single))(arguments, context)
        return passing_null(lambda x: format(x & mask, form))(arguments, context)

    return factory


def _in_base(value: int, base: int) -> str:
    digits = []
    rest = abs(value)
    while rest:
        rest, digit = divmod(rest, base)
        digits.append(_NUMERALS[digit])
    return ("-" if value < 0 else "") + ("".join(reversed(digits)) or "0")


def _conv(text: str, own: int, wanted: int) -> str:
    plain_digits = text[1:] if text[:1] in ("+", "-") else text
    try:
        # One by one: as a whole, Python also takes `0x1f` and `1_000`.
        if own not in _BASES or any(int(digit, 36) >= own for digit in plain_digits):
            raise ValueError
        value = int(text, own)
        if not java.INT_MIN <= value <= java.INT_MAX:
            raise ValueError
    except ValueError as error:
        raise EventError(f"math:conv: {text!r} is no int in base {own}") from error
    return _in_base(value, wanted if wanted in _BASES else 10)


def _parse(kind: str, parser: Callable[[str], float | None]) -> Factory:
    def parse(text: str) -> float:
        value = parser(text)
        if value is None:
            raise EventError(f"{text!r} is no {kind}")
        return value

    return passing_null(parse)


class _SeededDraws:
    """Java's random numbers of a seed: a linear congruential generator of 48 bits."""

    _MULTIPLIER, _MASK = 0x5DEECE66D, (1 << 48) - 1

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ self._MULTIPLIER) & self._MASK

    def _bits(self, count: int) -> int:
        self._state = (self._state * self._MULTIPLIER + 0xB) & self._MASK
        return self._state >> (48 - count)

    def fraction(self, *_seed: Any) -> float:
        """The next number in [0.0, 1.0)."""
        return ((self._bits(26) << 27) + self._bits(27)) / float(1 << 53)

    def snapshot(self) -> int:
        """Where the generator is."""
        return self._state

    def restore(self, state: int) -> None:
        self._state = state


def _rand(arguments: Sequence[Argument], context: Context) -> Function:
    if not arguments:
        return Draws(context, "rand").fraction
    draws = _SeededDraws(int(arguments[0].value))
    register_once(context, "rand", draws)
    return draws.fraction


_DOUBLES: dict[str, Callable[..., float]] = {
    "abs": abs,
    "acos": math.acos,
    "asin": math.asin,
    "cbrt": math.cbrt,
    "ceil": _whole(math.ceil),
    "copySign": math.copysign,
    "cos": math.cos,
    "cosh": math.cosh,
    "exp": math.exp,
    "floor": _floor,
    "ln": _ln,
    "log": lambda x, base: divide(_ln(x), _ln(base)),
    "log2": lambda x: _ln(x) / math.log(2.0),
    "log10": _log10,
    "max": _larger,
    "min": _smaller,
    "power": _power,
    "sin": math.sin,
    "sinh": _sinh,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
    "toDegrees": math.degrees,
    "toRadians": math.radians,
}

FUNCTIONS: dict[tuple[str, str], Factory] = {
    **{("math", name): _on_doubles(function) for name, function in _DOUBLES.items()},
    ("math", "atan"): _on_doubles(lambda x, *y: math.atan2(x, *y) if y else math.atan(x)),
    ("math", "bin"): _digits("b"),
    ("math", "oct"): _digits("o"),
    ("math", "hex"): _digits("x"),
    ("math", "conv"): passing_null(_conv),
    ("math", "e"): plain(lambda: math.e),
    ("math", "pi"): plain(lambda: math.pi),
    ("math", "getExponent"): passing_null(_exponent),
    # What is unknown is neither, as Siddhi's public suite asserts; all others pass null on.
    ("math", "isInfinite"): plain(lambda x: x is not None and math.isinf(x)),
    ("math", "isNan"): plain(lambda x: x is not None and math.isnan(x)),
    ("math", "parseDouble"): _parse("double", parse_double),
    ("math", "parseFloat"): _parse("float", parse_float),
    ("math", "parseInt"): _parse("int", parse_int),
    ("math", "parseLong"): _parse("long", parse_long),
    ("math", "rand"): _rand,
    ("math", "round"): _round,
    ("math", "signum"): passing_null(_signum),
}
