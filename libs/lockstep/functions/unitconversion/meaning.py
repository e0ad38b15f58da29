"""`unitconversion:`. Each unit is an exact multiple of its quantity's first one, so a result is
rounded once, or twice where neither of two units is a whole multiple of the other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from lockstep.functions.nulls import Factory, refusing_null
from lockstep.functions.unitconversion import PAIRS

_INCH: Final = Fraction(254, 10_000)
_POUND: Final = Fraction(45_359_237, 100_000_000)
_UNITS: Final = {
    "length": {
        "m": Fraction(1),
        "cm": Fraction(1, 100),
        "mm": Fraction(1, 10**3),
        "um": Fraction(1, 10**6),
        "nm": Fraction(1, 10**9),
        "km": Fraction(10**3),
        "Mm": Fraction(10**6),
        "in": _INCH,
        "ft": 12 * _INCH,
        "yd": 36 * _INCH,
        "mi": 63_360 * _INCH,
    },
    "mass": {
        "kg": Fraction(1),
        "g": Fraction(1, 10**3),
        "mg": Fraction(1, 10**6),
        "ug": Fraction(1, 10**9),
        "t": Fraction(10**3),
        "oz": _POUND / 16,
        "lb": _POUND,
        "st": 14 * _POUND,
        "ST": 2_000 * _POUND,
        "LT": 2_240 * _POUND,
    },
    "time": {
        "s": Fraction(1),
        "ms": Fraction(1, 10**3),
        "us": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
        "m": Fraction(60),
        "h": Fraction(3_600),
        "d": Fraction(86_400),
        "y": Fraction(3_652_525, 10_000) * 86_400,  # as the older product has it
    },
    "volume": {"m3": Fraction(1), "l": Fraction(1, 10**3), "ml": Fraction(1, 10**6)},
}


def _converter(ratio: Fraction) -> Callable[[float], float]:
    if ratio.numerator == 1:
        divisor = float(ratio.denominator)
        return lambda value: value / divisor
    factor = float(ratio)
    return lambda value: value * factor


def _functions() -> dict[str, Factory]:
    made: dict[str, Factory] = {}
    for quantity, pairs in PAIRS.items():
        units = _UNITS[quantity]
        for unit, others in pairs.items():
            for other in others.split():
                name = f"{unit}To{other}"
                convert = _converter(units[unit] / units[other])
                made[name] = refusing_null(f"unitconversion:{name}", convert)
    return made


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("unitconversion", name): factory for name, factory in _functions().items()
}
