"""`geo:`: distances on the sphere, and what lies where. A null argument fails the event."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from lockstep.events import AttributeType
from lockstep.functions.convert import object_text
from lockstep.functions.geo import addresses, shapes
from lockstep.functions.geo.shapes import Shape
from lockstep.functions.nulls import Factory, Function, refusing_null
from lockstep.operators.contract import Context
from lockstep.siddhiql.catalogue import Argument

EARTH_RADIUS_METRES: Final = 6_371_000
_RADIANS: Final = math.pi / 180


def distance(latitude: float, longitude: float, other: float, other_longitude: float) -> float:
    """Metres between two places on a sphere, along the great circle."""
    here, there = latitude * _RADIANS, other * _RADIANS
    north = math.sin((there - here) / 2)
    east = math.sin((other_longitude * _RADIANS - longitude * _RADIANS) / 2)
    half = north * north + math.cos(here) * math.cos(there) * east * east
    # Opposite places may come out a hair above 1.
    half = min(half, 1.0)
    return EARTH_RADIUS_METRES * (2 * math.atan2(math.sqrt(half), math.sqrt(1 - half)))


def _finite_distance(*places: float) -> float:
    if not all(map(math.isfinite, places)):
        return math.nan
    return distance(*map(float, places))


def placed_by(arguments: Sequence[Argument], at: int) -> tuple[int, Callable[..., Shape]]:
    """How many arguments from `at` on name a place or a geometry, and what makes a shape of them.

    A text is GeoJSON, read at once where it is a literal (EventError refuses the app); numbers are
    longitude and latitude.
    """
    argument = arguments[at]
    if argument.type is not AttributeType.STRING:
        return 2, shapes.point
    if argument.is_constant:
        fixed = shapes.from_text(argument.value)
        return 1, lambda text: fixed
    return 1, shapes.from_text


def _compared(test: Callable[..., bool]) -> Factory:
    """A function of a place or geometry, a fence, and what else its test takes."""

    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        taken, shape_of = placed_by(arguments, 0)
        _, fence_of = placed_by(arguments, taken)

        def compared(*values: Any) -> bool:
            return test(shape_of(*values[:taken]), fence_of(values[taken]), *values[taken + 1 :])

        return compared

    return factory


def _looked_up(made: Callable[[Any], Any], path: str | None = None) -> Factory:
    """What a file of places says of an IP address, at a path or at the one that is asked for."""

    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        file = addresses.opened(str(arguments[1].value))
        steps = tuple((path or str(arguments[2].value)).split("."))

        def looked_up(address: str | None, *_: Any) -> Any:
            found = file.find(address, steps)
            return None if found is None else made(found)

        return looked_up

    return factory


def _number(found: Any) -> float | None:
    return float(found) if isinstance(found, int | float) else None


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("geo", "distance"): refusing_null("geo:distance", _finite_distance),
    ("geo", "within"): _compared(shapes.within),
    ("geo", "intersects"): _compared(shapes.intersects),
    ("geo", "withinDistance"): _compared(shapes.near),
    ("geo", "country"): _looked_up(object_text, "country.iso_code"),
    ("geo", "city"): _looked_up(object_text, "city.names.en"),
    ("geo", "latitude"): _looked_up(_number, "location.latitude"),
    ("geo", "longitude"): _looked_up(_number, "location.longitude"),
    ("geo", "ofAddress"): _looked_up(object_text),
}
