"""#extrema:topK, #extrema:bottomK and their batches (extensions 18)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    INT,
    LONG,
    NUMBER,
    STRING,
    TIME,
    stream_function,
)

PLACES_MAX: Final = 1_000
"""How many places a list may have: each adds two attributes to every row."""

_ATTRIBUTE = Parameter("attribute", (*NUMBER, STRING, BOOL), attribute=True)
_LENGTH = Parameter("window.length", (INT,), constant=True, positive=True)
_TIME = Parameter("time.window", TIME, constant=True, positive=True)
_PLACES = Parameter("k.value", (INT,), constant=True, positive=True)


def _check(arguments: Sequence[Argument]) -> None:
    places = arguments[-1].value
    if places > PLACES_MAX:
        raise SignatureError(f"{places} places are too many", f"at most {PLACES_MAX}")


def _adds(prefix: str) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    """The value and its frequency, place by place."""

    def added(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
        return tuple(
            attribute
            for place in range(1, int(arguments[-1].value) + 1)
            for attribute in (
                Attribute(f"{prefix}{place}Element", arguments[0].type),
                Attribute(f"{prefix}{place}Frequency", LONG),
            )
        )

    return added


EXTENSIONS: tuple[Extension, ...] = tuple(
    stream_function(
        f"{prefix}K{suffix}",
        Overload((_ATTRIBUTE, *size, _PLACES), adds=_adds(prefix), check=_check),
        namespace="extrema",
    )
    for prefix in ("top", "bottom")
    for suffix, size in (("", ()), ("LengthBatch", (_LENGTH,)), ("TimeBatch", (_TIME,)))
)
