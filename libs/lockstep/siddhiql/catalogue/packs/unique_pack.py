"""`unique:`: signatures of the windows and of the deduplicator."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Attribute
from lockstep.siddhiql.catalogue.contract import Argument, Extension, Overload, Parameter
from lockstep.siddhiql.catalogue.packs.signature import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    stream_function,
    window,
)

_SCALARS = (INT, LONG, FLOAT, BOOL, DOUBLE, STRING)
_KEY = Parameter("unique.key", _SCALARS)
_KEYS = Parameter("unique.key", _SCALARS, repeat=True, min_repeat=1)
_LENGTH = Parameter("window.length", (INT,), constant=True)
_TIME = Parameter("window.time", TIME, constant=True)
_PERIOD = Parameter("window.time", TIME, constant=True, positive=True)
_START = Parameter("start.time", TIME, constant=True)
_TIMESTAMP = Parameter("time.stamp", (LONG,), attribute=True)
_TIMEOUT = Parameter("time.out", TIME, constant=True, optional=True)
_REPLACE = Parameter(
    "replace.time.stamp.with.batch.end.time", (BOOL,), constant=True, optional=True
)


def _nothing(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return ()


_WINDOWS: tuple[tuple[str, tuple[Overload, ...]], ...] = (
    ("ever", (Overload((_KEYS,)),)),
    ("first", (Overload((_KEYS,)),)),
    ("length", (Overload((_KEY, _LENGTH)),)),
    ("time", (Overload((_KEY, _TIME)),)),
    ("lengthBatch", (Overload((_KEY, _LENGTH)),)),
    ("firstLengthBatch", (Overload((_KEY, _LENGTH)),)),
    ("timeBatch", (Overload((_KEY, _PERIOD)), Overload((_KEY, _PERIOD, _START)))),
    ("firstTimeBatch", (Overload((_KEY, _PERIOD)), Overload((_KEY, _PERIOD, _START)))),
    (
        "timeLengthBatch",
        (Overload((_KEY, _PERIOD, _LENGTH)), Overload((_KEY, _PERIOD, _START, _LENGTH))),
    ),
    (
        "externalTimeBatch",
        (
            Overload((_KEY, _TIMESTAMP, _PERIOD)),
            Overload((_KEY, _TIMESTAMP, _PERIOD, _START, _TIMEOUT, _REPLACE)),
            Overload(
                (
                    _KEY,
                    _TIMESTAMP,
                    _PERIOD,
                    Parameter("start.time", (LONG,), attribute=True),
                    _TIMEOUT,
                    _REPLACE,
                )
            ),
        ),
    ),
)

EXTENSIONS: tuple[Extension, ...] = (
    *(window(name, *overloads, namespace="unique") for name, overloads in _WINDOWS),
    stream_function(
        "deduplicate",
        Overload((_KEY, Parameter("time.interval", TIME, constant=True)), adds=_nothing),
        namespace="unique",
    ),
)
