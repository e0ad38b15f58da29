"""`geo:` (extensions 11)."""

from __future__ import annotations

import contextlib
import math

import pytest

from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing import VirtualApp
from tests.unit.functions.calling import call

SQUARE = "{'type':'Polygon','coordinates':[[[0,0],[0,2],[2,2],[2,0],[0,0]]]}"
BOW_TIE = "{'type':'Polygon','coordinates':[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}"


@pytest.mark.parametrize(
    ("places", "metres"),
    [
        ((8.116553, 77.523679, 9.850047, 98.597177), 2322119.848252557),
        ((54.432063, 19.669778, 59.971487, 29.958951), 871946.8734223971),
        ((0, 0, 0, 180), math.pi * 6_371_000),
        ((0.0, 179.5, 0.0, -179.5), 6_371_000 * math.radians(1)),
        ((51.5, 7.0, 51.5, 7.0), 0.0),
    ],
)
def test_distance(places: tuple[float, ...], metres: float) -> None:
    """Two values that Siddhi's users know, opposite places, over the 180th meridian, none."""
    assert call("geo:distance", *places) == pytest.approx(metres, rel=1e-14)


def test_distance_of_nothing() -> None:
    """NaN for what is no place; a null fails."""
    assert math.isnan(call("geo:distance", math.inf, 0.0, 0.0, 0.0))
    with pytest.raises(EventError, match="argument 2 is null"):
        call("geo:distance", 1.0, None, 1.0, 1.0)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("within", (1.0, 1.0, SQUARE), True),
        ("within", (2.0, 1.0, SQUARE), False),
        ("intersects", (2.0, 1.0, SQUARE), True),
        ("intersects", (2.1, 1.0, SQUARE), False),
        ("withinDistance", (3.0, 1.0, SQUARE, 110_575), True),
        ("withinDistance", (3.0, 1.0, SQUARE, 110_574), False),
        ("within", ("{'type':'Circle','radius':100000,'coordinates':[1,1]}", SQUARE), True),
        ("within", ("{'type':'Circle','radius':120000,'coordinates':[1,1]}", SQUARE), False),
    ],
)
def test_shapes(name: str, values: tuple[object, ...], expected: bool) -> None:
    """Borders are not within; circles have metres."""
    assert call(f"geo:{name}", *values) is expected


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "7", "{'type':'Polygon'}", "{'type':'Point','coordinates':['a',1]}",
        "{'type':'Point','coordinates':[]}", "{'type':'Bow','coordinates':[1,2]}",
        "{'type':'Circle','radius':-1,'coordinates':[1,1]}",
        "{'type':'Circle','radius':'x','coordinates':[1,1]}",
        "{'type':'Point','coordinates':[1e999,1]}",
        "{'type':'Feature','geometry':null}", "{'type':'Polygon','coordinates':[[[0,0],[1,1]]]}",
    ],
)  # fmt: skip
def test_refuses_what_is_no_geometry(text: str) -> None:
    """With EventError, as any function does: the event becomes a dead letter."""
    with pytest.raises(EventError):
        call("geo:within", 1.0, 1.0, text)


def test_a_broken_polygon_breaks_nothing_else() -> None:
    """One that cuts itself has an answer or fails its event; nothing else comes out."""
    with contextlib.suppress(EventError):
        assert call("geo:within", BOW_TIE, SQUARE) in (True, False)
    with pytest.raises(EventError):
        call("geo:within", math.nan, 1.0, SQUARE)


def test_a_literal_that_is_no_fence_refuses_the_app() -> None:
    """Before its first event."""
    text = "define stream S (a double); from S[geo:within(a, a, 'no')] select a insert into O;"
    with pytest.raises((EventError, SiddhiQLError), match="not JSON"):
        VirtualApp(text)
