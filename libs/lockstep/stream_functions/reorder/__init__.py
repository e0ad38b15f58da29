"""#reorder:kslack and #reorder:akslack (extensions 10)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter
from lockstep.siddhiql.catalogue.signatures import BOOL, DOUBLE, LONG, NUMBER, stream_function

_TIMESTAMP = Parameter("timestamp", (LONG,))
_FIELD = Parameter("correlation.field", NUMBER)
_SIZE = Parameter("batch.size", (LONG,), constant=True)
_TIMEOUT = Parameter("timeout", (LONG,), constant=True)
_MAX_K = Parameter("max.k", (LONG,), constant=True)
_DISCARD = Parameter("discard.late.arrival", (BOOL,), constant=True)
_THRESHOLD = Parameter("error.threshold", (DOUBLE,), constant=True)
_LEVEL = Parameter("confidence.level", (DOUBLE,), constant=True)


def _nothing(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return ()


def _forms(*forms: tuple[Parameter, ...]) -> tuple[Overload, ...]:
    return tuple(Overload(form, adds=_nothing) for form in forms)


_ADAPTIVE = (_TIMESTAMP, _FIELD, _SIZE, _TIMEOUT, _MAX_K, _DISCARD, _THRESHOLD, _LEVEL)

EXTENSIONS: tuple[Extension, ...] = (
    stream_function(
        "kslack",
        *_forms(
            (_TIMESTAMP,),
            (_TIMESTAMP, _TIMEOUT),
            (_TIMESTAMP, _DISCARD),
            (_TIMESTAMP, _TIMEOUT, _MAX_K),
            (_TIMESTAMP, _TIMEOUT, _DISCARD),
            (_TIMESTAMP, _TIMEOUT, _MAX_K, _DISCARD),
        ),
        namespace="reorder",
    ),
    stream_function(
        "akslack",
        *_forms(*(_ADAPTIVE[:count] for count in (2, 3, 4, 5, 6, 8))),
        namespace="reorder",
    ),
)
