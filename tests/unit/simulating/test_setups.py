"""Set-ups: read back as they were written, and refused with what is expected."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.clock import SeededRandomness
from lockstep.simulating import (
    Bounds,
    DatabaseRows,
    FeedSetup,
    Found,
    Setup,
    SimulationError,
    feed_of,
    read_setup,
)

BOUNDS = Bounds(max_feeds=2, max_rate_per_s=1_000, max_rows=100)
GOOD: dict[str, Any] = {"stream": "Reading", "random": {"room": "hall", "n": 5}}


async def nothing(_rows: DatabaseRows, _most: int) -> Found:
    """No database."""
    raise AssertionError


def test_what_is_kept_is_read_back() -> None:
    """With all that can be said of a feed."""
    setup = Setup(
        feeds=[
            FeedSetup(stream="A", random={"n": [1, None], "m": "1++"}, rate_per_s=0.5, for_ms=9),
            FeedSetup(
                stream="B", database=DatabaseRows(datasource="shop", table="t"), speed=2.0,
                time_column="at", keep_times=True, repeat=0, limit_events=7,
            ),
        ]
    )  # fmt: skip
    assert read_setup(setup.text(), BOUNDS) == setup
    assert '"for_ms": 9' in setup.text()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"random": None}, "Reading: says nothing or several things to send"),
        ({"csv": "a"}, "Reading: says nothing or several things to send"),
        ({"rate_per_s": 0}, "Reading: 0 events per second (hint: more than 0, at most 1000)"),
        ({"rate_per_s": 1_001}, "Reading: 1001 events per second"),
        ({"rate_per_s": 1e-320}, "Reading: 9.99989e-321 events per second (hint: at least 1e-06)"),
        ({"speed": 1e-320}, "Reading: a speed of 9.99989e-321 (hint: at least 1e-06)"),
        ({"for_ms": 10**400}, "Reading: for_ms is too large (hint: at most"),
        ({"limit_events": 10**16}, "Reading: limit_events is too large"),
        ({"repeat": 10**16}, "Reading: repeat is too large"),
        ({"speed": 2.0}, "Reading: has a speed, and no times"),
        ({"keep_times": True}, "Reading: keeps times, and has none"),
        ({"repeat": -1}, "Reading: repeats -1 times"),
        ({"limit_events": 0}, "Reading: limit_events is 0"),
        ({"random": None, "database": {"datasource": "d"}}, "Reading: asks a database for nothing"),
        ({"colour": 1}, "set-up: Object contains unknown field `colour` - at `$.feeds[0]`"),
        ({"stream": 1}, "set-up: Expected `str`, got `int` - at `$.feeds[0].stream`"),
    ],
)
def test_a_wrong_set_up_says_where(changed: dict[str, Any], says: str) -> None:
    """And what is expected there."""
    with pytest.raises(SimulationError) as told:
        read_setup({"feeds": [{**GOOD, **changed}]}, BOUNDS)
    assert str(told.value).startswith(says)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{", "set-up: is not JSON"),
        ('{"feeds": []}', "set-up: 0 feeds: 1 to 2 can run at a time"),
        ('{"feeds": 3}', "set-up: Expected `array`, got `int`"),
    ],
)
def test_what_is_no_set_up_is_refused(written: str, says: str) -> None:
    """Before anything runs."""
    with pytest.raises(SimulationError) as told:
        read_setup(written, BOUNDS)
    assert str(told.value).startswith(says)


@pytest.mark.parametrize(
    ("random", "says"),
    [
        ({"room": "hall", "n": 5, "m": 1}, "Reading: has no attribute m (hint: room, n)"),
        ({"n": "warm"}, "Reading: n: 'warm' is no int"),
    ],
)
async def test_rules_fit_their_stream(random: dict[str, Any], says: str) -> None:
    """An attribute without a rule is null; a rule without an attribute is a mistake."""
    columns = [("room", "string"), ("n", "int")]
    setup = FeedSetup(stream="Reading", random=random)
    with pytest.raises(SimulationError) as told:
        await feed_of(setup, columns, SeededRandomness(1), nothing, BOUNDS)
    assert str(told.value) == says
