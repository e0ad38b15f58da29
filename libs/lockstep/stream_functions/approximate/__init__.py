"""#approximate:count, #approximate:distinctCount, #approximate:distinctCountEver (extensions
21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    LONG,
    NUMBER,
    STRING,
    stream_function,
)
from lockstep.stream_functions.approximate.sketches import (
    BITS_MAX,
    CELLS_MAX,
    SPREADS,
    bits_for,
    size_for,
)

_VALUE = Parameter("value", (*NUMBER, STRING, BOOL), attribute=True)
_ERROR = Parameter("relative.error", (DOUBLE, FLOAT), constant=True)
_CONFIDENCE = Parameter("confidence", (DOUBLE, FLOAT), constant=True)


def _between(arguments: Sequence[Argument]) -> None:
    for parameter, argument in zip((_ERROR, _CONFIDENCE), arguments[1:], strict=False):
        if not 0 < argument.value < 1:
            raise SignatureError(f"{parameter.name} is {argument.value}", "it lies between 0 and 1")


def _count(arguments: Sequence[Argument]) -> None:
    _between(arguments)
    if len(arguments) > 1:
        rows, columns = size_for(arguments[1].value, arguments[2].value)
        if rows * columns > CELLS_MAX:
            raise SignatureError(
                f"relative.error {arguments[1].value} takes {rows * columns} counters",
                f"at most {CELLS_MAX}",
            )


def _distinct(arguments: Sequence[Argument]) -> None:
    _between(arguments)
    if len(arguments) > 1:
        if round(arguments[2].value, 6) not in SPREADS:
            known = ", ".join(map(str, SPREADS))
            raise SignatureError(f"confidence is {arguments[2].value}", f"it is one of {known}")
        if bits_for(arguments[1].value) > BITS_MAX:
            raise SignatureError(
                f"relative.error {arguments[1].value} takes more than {2**BITS_MAX} registers",
                "from 0.0021 on it takes fewer",
            )


def _declared(name: str, check: Callable[[Sequence[Argument]], None]) -> Extension:
    added = tuple(Attribute(f"{name}{bound}", LONG) for bound in ("", "LowerBound", "UpperBound"))
    return stream_function(
        name,
        *(
            Overload(parameters, adds=lambda arguments: added, check=check)
            for parameters in ((_VALUE,), (_VALUE, _ERROR, _CONFIDENCE))
        ),
        namespace="approximate",
    )


EXTENSIONS: tuple[Extension, ...] = (
    _declared("count", _count),
    _declared("distinctCount", _distinct),
    _declared("distinctCountEver", _distinct),
)
