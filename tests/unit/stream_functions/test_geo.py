"""`#geo:`: the closest points, and beacons (the golden has the rest)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.stream_functions.geo.followed import KEEP_MS
from lockstep.testing import VirtualApp

BEACONS = """
define stream S (who string, lat double, lon double, near string, beacon string, weight double, at long);
@info(name='q') from S#geo:locationApproximate(who, lat, lon, near, beacon, weight, at)
select averagedLatitude as lat, averagedLongitude as lon, averageExist as known insert into O;
"""  # noqa: E501


def found(app: VirtualApp, *event: Any) -> tuple[Any, ...]:
    """What comes of the event."""
    app.send("S", list(event))
    return app.stream("O")[-1].data


def test_the_mean_of_beacons() -> None:
    """By weight; beacons leave by name and by age, also after a restart."""
    app = VirtualApp(BEACONS)
    mean = found(app, "p", 10.0, 20.0, "enter", "b1", 1.0, 1_000)
    assert mean == (pytest.approx(10.0), pytest.approx(20.0), True)
    mean = found(app, "p", 10.0, 22.0, "RANGE", "b2", 3.0, 2_000)
    assert mean[1:] == (pytest.approx(21.5, abs=1e-3), True)
    app = VirtualApp.restore(BEACONS, app.snapshot())
    assert found(app, "p", 10.0, 22.0, "EXIT", "b2", 3.0, 3_000)[1] == pytest.approx(20.0)
    assert found(app, "p", 1.0, 2.0, "EXIT", "b2", 3.0, 301_001) == (1.0, 2.0, False)


def test_beacons_without_weight_say_nothing() -> None:
    """Nothing is divided by zero."""
    assert found(VirtualApp(BEACONS), "p", 1.0, 2.0, "ENTER", "b", 0.0, 1) == (1.0, 2.0, False)


def test_what_is_known_of_silent_ones_goes_away() -> None:
    """State does not grow with every id that ever was."""
    text = """
    define stream S (id int, lon double, lat double);
    from S#geo:proximity(id, lon, lat, 1000) select * insert into O;
    from S#geo:stationary(id, lon, lat, 1000) select * insert into P;
    """
    app = VirtualApp(text)
    app.send("S", [1, 5.0, 5.0])
    little = len(app.snapshot())
    for number in range(2, 200):
        app.send("S", [number, 5.0, 5.0])
    much = len(app.snapshot())
    app.advance(KEEP_MS + 1)
    app.send("S", [1, 5.0, 5.0])
    assert len(app.snapshot()) < little + 100 < much


def test_nothing_is_said_of_nulls() -> None:
    """They fail their event, and leave no trace in the state."""
    text = """
    define stream S (id string, lon double, lat double);
    from S#geo:crosses(id, lon, lat, "{'type':'Circle','radius':1000,'coordinates':[0,0]}")
    select id, crosses insert into O;
    """
    app = VirtualApp(text)
    app.send_many("S", [[None, 0.0, 0.0]])
    app.send_many("S", [["a", None, 0.0]])
    app.send_many("S", [["a", 0.0, 0.0]])
    assert [event.data for event in app.stream("O")] == [("a", True)]
    assert len(app.faults()) == 2
