"""Shapes: what is inside what, how near, and that they come back as they were."""

from __future__ import annotations

import json

import pytest

from lockstep.functions.geo import shapes
from lockstep.operators.errors import EventError

SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]}


def test_what_lies_in_a_fence() -> None:
    """A place on the border does not; it touches it, though."""
    fence = shapes.from_text(json.dumps(SQUARE))
    found = [(shapes.within(one, fence), shapes.intersects(one, fence)) for one in (
        shapes.point(1, 1), shapes.point(4, 1), shapes.point(5, 1)
    )]  # fmt: skip
    assert found == [(True, True), (False, True), (False, False)]


def test_the_nearest_places_and_those_who_are_near() -> None:
    """A degree is some 110 kilometres."""
    fence, one = shapes.from_text(json.dumps(SQUARE)), shapes.point(6, 2)
    assert shapes.closest(one, fence) == (6.0, 2.0, 4.0, 2.0)
    assert not shapes.near(one, fence, 200_000)
    assert shapes.near(one, fence, 250_000)
    assert shapes.near_ones(one, [fence, shapes.point(6, 2)], 1_000) == [False, True]
    with pytest.raises(EventError, match="a distance is null"):
        shapes.near(one, fence, None)


def test_a_shape_comes_back_from_a_snapshot() -> None:
    """Bit by bit."""
    one = shapes.point(79.8612, 6.9271)
    assert shapes.unpacked(shapes.packed(one)).equals(one)
