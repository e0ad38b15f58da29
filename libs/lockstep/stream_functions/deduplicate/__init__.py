"""#unique:deduplicate (extensions 9)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    stream_function,
)

_KEY = Parameter("unique.key", (INT, LONG, FLOAT, BOOL, DOUBLE, STRING))


def _nothing(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return ()


EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "deduplicate",
        Overload((_KEY, Parameter("time.interval", TIME, constant=True)), adds=_nothing),
        namespace="unique",
    ),
)
