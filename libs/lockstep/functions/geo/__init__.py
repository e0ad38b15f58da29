"""`geo:`: what each function takes and gives (extensions 11)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import BOOL, DOUBLE, NUMBER, STRING, function, gives

_GEO = "geo"
LONGITUDE = Parameter("longitude", NUMBER)
LATITUDE = Parameter("latitude", NUMBER)
GEOMETRY = Parameter("geometry", (STRING,))
FENCE = Parameter("fence", (STRING,))
_DISTANCE = Parameter("distance", NUMBER)
_IP = Parameter("ip", (STRING,))
_FILE = Parameter("file", (STRING,), constant=True)
_PATH = Parameter("path", (STRING,), constant=True)
_PLACES = tuple(
    Parameter(f"{which}.{what}", NUMBER)
    for which in ("location1", "location2")
    for what in ("latitude", "longitude")
)

EXTENSIONS: tuple[Extension, ...] = (
    function("distance", gives(DOUBLE, *_PLACES), namespace=_GEO),
    *(
        function(
            name,
            gives(BOOL, LONGITUDE, LATITUDE, FENCE, *more),
            gives(BOOL, GEOMETRY, FENCE, *more),
            namespace=_GEO,
        )
        for name, more in (("within", ()), ("intersects", ()), ("withinDistance", (_DISTANCE,)))
    ),
    function("country", gives(STRING, _IP, _FILE), namespace=_GEO),
    function("city", gives(STRING, _IP, _FILE), namespace=_GEO),
    function("latitude", gives(DOUBLE, _IP, _FILE), namespace=_GEO),
    function("longitude", gives(DOUBLE, _IP, _FILE), namespace=_GEO),
    function("ofAddress", gives(STRING, _IP, _FILE, _PATH), namespace=_GEO),
)
