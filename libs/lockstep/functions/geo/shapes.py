"""Shapes on the plane of longitude and latitude: GeoJSON read, and what lies where.

The only door to shapely. Distances of shapes are in metres, at METRES_PER_DEGREE of any direction,
as in the older products: right near the equator, too large along the parallels elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import shapely
from shapely.errors import ShapelyError
from shapely.geometry import shape
from shapely.ops import nearest_points

from lockstep.functions.json_documents import parse_lenient
from lockstep.operators.errors import EventError

METRES_PER_DEGREE: Final = 110_574.61087757687
_REMEMBERED: Final = 1_024
"""GeoJSON texts whose shapes are kept: fences come with each event again."""

Shape: TypeAlias = Any
"""A shape of shapely, which has no types of its own."""


def point(longitude: Any, latitude: Any) -> Shape:
    """A place; EventError for null, NaN and infinities."""
    if longitude is None or latitude is None:
        raise EventError("a place needs a longitude and a latitude, but one of them is null")
    if not (math.isfinite(longitude) and math.isfinite(latitude)):
        raise EventError(f"no place: longitude {longitude}, latitude {latitude}")
    return shapely.Point(longitude, latitude)


def from_text(text: str | None) -> Shape:
    """The shape of a GeoJSON text, or of a circle: `{"type": "Circle", "radius": metres,
    "coordinates": [longitude, latitude]}`. EventError for what is none."""
    if text is None:
        raise EventError("a geometry is null")
    return _read(text)


@lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> Shape:
    document = parse_lenient(text)
    if isinstance(document, Mapping) and document.get("type") == "Feature":
        document = document.get("geometry")
    if not isinstance(document, Mapping):
        raise EventError("a geometry is a JSON object with type and coordinates")
    try:
        found = _circle(document) if "radius" in document else shape(dict(document))
    except (ShapelyError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise EventError(f"no GeoJSON geometry: {error}") from error
    if found.is_empty or not np.isfinite(shapely.get_coordinates(found)).all():
        raise EventError("a geometry without places")
    shapely.prepare(found)
    return found


def _circle(document: Mapping[str, Any]) -> Shape:
    longitude, latitude = document["coordinates"][:2]
    radius = float(document["radius"])
    if not (math.isfinite(radius) and radius > 0):
        raise EventError(f"a circle needs a radius above 0, not {radius}")
    return point(float(longitude), float(latitude)).buffer(radius / METRES_PER_DEGREE)


def _decided(test: Callable[..., Any], *arguments: Any) -> Any:
    """A test of shapes; what they are too broken for fails the event."""
    try:
        return test(*arguments)
    except ShapelyError as error:
        raise EventError(f"these geometries cannot be compared: {error}") from error


def within(one: Shape, fence: Shape) -> bool:
    """Whether all of the shape lies in the fence; a place on its border does not."""
    return bool(_decided(shapely.contains, fence, one))


def intersects(one: Shape, fence: Shape) -> bool:
    """Whether they have a place in common; borders count."""
    return bool(_decided(shapely.intersects, fence, one))


def near(one: Shape, other: Shape, metres: float | None) -> bool:
    """Whether the shapes are at most so far apart."""
    if metres is None:
        raise EventError("a distance is null")
    return bool(_decided(shapely.dwithin, one, other, metres / METRES_PER_DEGREE))


def near_ones(one: Shape, others: list[Shape], metres: float) -> list[bool]:
    """`near` of each of the others."""
    found: list[bool] = shapely.dwithin(one, np.array(others), metres / METRES_PER_DEGREE).tolist()
    return found


def closest(one: Shape, fence: Shape) -> tuple[float, float, float, float]:
    """The place of the first that is nearest to the second, and of the second that is nearest to
    the first: longitude, latitude, longitude, latitude."""
    mine, its = _decided(nearest_points, one, fence)
    return mine.x, mine.y, its.x, its.y


def packed(one: Shape) -> bytes:
    """As plain bytes (well-known binary): for snapshots."""
    found: bytes = shapely.to_wkb(one)
    return found


def unpacked(kept: bytes) -> Shape:
    """What `packed` gave."""
    return shapely.from_wkb(kept)
