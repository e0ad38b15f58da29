"""#geo:crosses, #geo:proximity, #geo:stationary, #geo:closestPoints, #geo:locationApproximate
(extensions 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.events import Attribute, AttributeType
from lockstep.functions.geo import FENCE, GEOMETRY, LATITUDE, LONGITUDE
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    INT,
    LONG,
    NUMBER,
    STRING,
    TIME,
    stream_function,
)

_ID = Parameter("id", (STRING, INT, LONG))
_RADIUS = Parameter("radius", NUMBER, constant=True, positive=True)
_KEEP = Parameter("keep.time", TIME, constant=True, optional=True, positive=True)


def _adds(**attributes: AttributeType) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    added = tuple(Attribute(name, type_) for name, type_ in attributes.items())
    return lambda arguments: added


def _placed(
    name: str,
    before: tuple[Parameter, ...],
    behind: tuple[Parameter, ...],
    **attributes: AttributeType,
) -> Extension:
    """The two forms of a call: by longitude and latitude, and by geometry."""
    return stream_function(
        name,
        *(
            Overload((*before, *place, *behind), adds=_adds(**attributes))
            for place in ((LONGITUDE, LATITUDE), (GEOMETRY,))
        ),
        namespace="geo",
    )


_APPROXIMATE = Overload(
    (
        Parameter("location.recorder", (STRING,)),
        LATITUDE,
        LONGITUDE,
        Parameter("sensor.proximity", (STRING,)),
        Parameter("sensor.uuid", (STRING,)),
        Parameter("sensor.weight", NUMBER),
        Parameter("timestamp", (LONG,)),
    ),
    adds=_adds(averagedLatitude=DOUBLE, averagedLongitude=DOUBLE, averageExist=BOOL),
)

EXTENSIONS: tuple[Extension, ...] = (
    _placed("crosses", (_ID,), (FENCE, _KEEP), crosses=BOOL),
    _placed("stationary", (_ID,), (_RADIUS, _KEEP), stationary=BOOL),
    _placed("proximity", (_ID,), (_RADIUS, _KEEP), proximityWith=STRING, inCloseProximity=BOOL),
    _placed(
        "closestPoints",
        (),
        (FENCE,),
        closestPointOf1From2Latitude=DOUBLE,
        closestPointOf1From2Longitude=DOUBLE,
        closestPointOf2From1Latitude=DOUBLE,
        closestPointOf2From1Longitude=DOUBLE,
    ),
    stream_function("locationApproximate", _APPROXIMATE, namespace="geo"),
)
