"""`unitconversion:`: one function for each pair of units, such as `cmToft` (extensions 17)."""

from __future__ import annotations

from typing import Final

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import DOUBLE, NUMBER, function, gives

PAIRS: Final = {
    "length": {
        "cm": "ft in km m um mi mm nm yd",
        "km": "cm ft in m um mi mm nm yd",
        "m": "cm ft mm yd",
        "Mm": "km",
        "mi": "km",
    },
    "mass": {"g": "kg ug mg", "kg": "g LT oz lb st t ST", "t": "g kg"},
    "time": {"d": "h", "h": "m s", "m": "s", "s": "us ms ns", "y": "d"},
    "volume": {"m3": "l", "l": "m3 ml", "ml": "l"},
}
"""Of each quantity: from which unit to which others. `m` is a metre, or a minute."""

_VALUE = Parameter("value", NUMBER)


EXTENSIONS: tuple[Extension, ...] = tuple(
    function(f"{unit}To{other}", gives(DOUBLE, _VALUE), namespace="unitconversion")
    for pairs in PAIRS.values()
    for unit, others in pairs.items()
    for other in others.split()
)
