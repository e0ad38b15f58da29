"""`kf:kalmanFilter`: what it takes (extensions 19)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import DOUBLE, LONG, function, gives

_VALUE = Parameter("measured.value", (DOUBLE,))
_RATE = Parameter("measured.changing.rate", (DOUBLE,))
_NOISE = Parameter("measurement.noise.sd", (DOUBLE,))
_TIMESTAMP = Parameter("timestamp", (LONG,))

EXTENSIONS: tuple[Extension, ...] = (
    function(
        "kalmanFilter",
        gives(DOUBLE, _VALUE),
        gives(DOUBLE, _VALUE, _NOISE),
        gives(DOUBLE, _VALUE, _RATE, _NOISE, _TIMESTAMP),
        namespace="kf",
        remembers=True,
    ),
)
