"""#priority:time (extensions 20)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    INT,
    LONG,
    NUMBER,
    STRING,
    TIME,
    stream_function,
)

_KEY = Parameter("unique.key", (*NUMBER, STRING, BOOL), attribute=True)
_PRIORITY = Parameter("priority", (INT, LONG), attribute=True)
_TIMEOUT = Parameter("timeout.constant", TIME, constant=True, positive=True)


def _adds(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    key, priority, _ = arguments
    return (Attribute("priorityKey", key.type), Attribute("currentPriority", priority.type))


EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "time", Overload((_KEY, _PRIORITY, _TIMEOUT), adds=_adds), namespace="priority"
    ),
)
