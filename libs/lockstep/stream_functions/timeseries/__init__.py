"""#timeseries:regress, #timeseries:forecast, #timeseries:outlier (extensions 22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import BOOL, DOUBLE, INT, NUMBER, stream_function

ROWS_MAX: Final = 100_000
"""Over how many events a line is fitted at most, and where the call names no number."""

_SETTINGS = (
    Parameter("calculation.interval", (INT,), constant=True, positive=True),
    Parameter("batch.size", (INT,), constant=True, positive=True),
    Parameter("confidence.interval", (DOUBLE,), constant=True),
)
_Y = Parameter("y.stream", NUMBER)
_X = Parameter("x.stream", NUMBER)
_XS = Parameter("x.stream", NUMBER, repeat=True, min_repeat=1)


def _check(arguments: Sequence[Argument]) -> None:
    size, confidence = arguments[1].value, arguments[2].value
    if size > ROWS_MAX:
        raise SignatureError(f"batch.size is {size}", f"at most {ROWS_MAX}")
    if not 0 <= confidence <= 1:
        raise SignatureError(f"confidence.interval is {confidence}", "it lies between 0 and 1")


def _adds(
    before: int, last: tuple[tuple[str, AttributeType], ...]
) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    """`before`: how many arguments stand in front of y."""

    def added(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
        betas = tuple((f"beta{place}", DOUBLE) for place in range(len(arguments) - before))
        return tuple(Attribute(*each) for each in (("stderr", DOUBLE), *betas, *last))

    return added


def _no_literal(place: int) -> Callable[[Sequence[Argument]], None]:
    """y is no literal: where one stands, the settings were meant."""

    def check(arguments: Sequence[Argument]) -> None:
        if arguments[place].is_constant:
            raise SignatureError(
                "no such settings",
                "calculation.interval, batch.size: ints above 0; confidence.interval: a double",
            )

    return check


def _declared(
    name: str, parameters: tuple[Parameter, ...], *last: tuple[str, AttributeType]
) -> Extension:
    before = parameters.index(_Y)
    return stream_function(
        name,
        Overload((*_SETTINGS, *parameters), adds=_adds(before + 3, last), check=_check),
        Overload(parameters, adds=_adds(before, last), check=_no_literal(before)),
        namespace="timeseries",
    )


EXTENSIONS: tuple[Extension, ...] = (
    _declared("regress", (_Y, _XS)),
    _declared("forecast", (Parameter("next.x.value", NUMBER), _Y, _X), ("forecastY", DOUBLE)),
    _declared("outlier", (Parameter("range", NUMBER), _Y, _X), ("outlier", BOOL)),
)
