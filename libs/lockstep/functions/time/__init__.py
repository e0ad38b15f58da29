"""`time:`: what each function takes and gives (extensions 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.signatures import INT, LONG, STRING, function, gives

UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")

_TEXT = Parameter("text", (STRING,))
_FORMAT = Parameter("format", (STRING,))
_MAYBE_FORMAT = Parameter("format", (STRING,), optional=True)
_MS = Parameter("timestamp", (LONG,))
_COUNT = Parameter("count", (INT,))
_UNIT = Parameter("unit", (STRING,), constant=True)
_LOCALE = Parameter("locale", (STRING,), constant=True)
_ZONE = Parameter("zone", (STRING,))


def _unit_at(position: int) -> Callable[[Sequence[Argument]], None]:
    def check(arguments: Sequence[Argument]) -> None:
        unit = str(arguments[position].value)
        if unit.upper() not in UNITS:
            raise SignatureError(f"{unit!r} is no unit", hint=f"use one of {', '.join(UNITS)}")

    return check


_SHIFT = (
    Overload((_TEXT, _COUNT, _UNIT, _MAYBE_FORMAT), STRING, check=_unit_at(2)),
    Overload((_MS, _COUNT, _UNIT), STRING, check=_unit_at(2)),
)

_FUNCTIONS: tuple[tuple[str, tuple[Overload, ...]], ...] = (
    ("currentDate", (gives(STRING),)),
    ("currentTime", (gives(STRING),)),
    (
        "currentTimestamp",
        (gives(STRING), gives(STRING, Parameter("zone", (STRING,), constant=True))),
    ),
    ("utcTimestamp", (gives(STRING), gives(STRING, _FORMAT))),
    ("date", (gives(STRING, _TEXT, _MAYBE_FORMAT),)),
    ("dateAdd", _SHIFT),
    ("dateSub", _SHIFT),
    (
        "dateDiff",
        (
            gives(INT, _TEXT, _TEXT),
            gives(INT, _TEXT, _TEXT, _FORMAT),
            gives(INT, _TEXT, _TEXT, _FORMAT, _FORMAT),
            gives(INT, _MS, _MS),
        ),
    ),
    (
        "dateFormat",
        (gives(STRING, _TEXT, _FORMAT, _MAYBE_FORMAT), gives(STRING, _MS, _FORMAT)),
    ),
    ("dayOfWeek", (gives(STRING, _TEXT, _MAYBE_FORMAT),)),
    (
        "extract",
        (
            gives(INT, _UNIT, _TEXT),
            gives(INT, _UNIT, _TEXT, _FORMAT),
            gives(INT, _UNIT, _TEXT, _FORMAT, _LOCALE),
            gives(INT, _MS, _UNIT),
            gives(INT, _MS, _UNIT, _LOCALE),
        ),
    ),
    (
        "timestampInMilliseconds",
        (gives(LONG), gives(LONG, _TEXT), gives(LONG, _TEXT, _FORMAT)),
    ),
    (
        "timezoneConvert",
        (gives(STRING, _TEXT, _FORMAT, _ZONE), gives(STRING, _TEXT, _FORMAT, _ZONE, _ZONE)),
    ),
)

EXTENSIONS: tuple[Extension, ...] = tuple(
    function(name, *overloads, namespace="time") for name, overloads in _FUNCTIONS
)
