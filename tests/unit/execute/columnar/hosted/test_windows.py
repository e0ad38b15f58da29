"""Windows that only the reference has, in front of columns."""

from __future__ import annotations

import pytest

from lockstep.execute.columnar.hosted.window import HostedWindow
from lockstep.execute.columnar.hosted.window_query import HostedWindowQuery
from lockstep.execute.columnar.hosted.window_rule import HOSTED_WINDOWS
from tests.unit.side_by_side import TICK, Step, played, reasons, unit_of

S = "define stream S (s string, i int, t long); "
STEPS: list[Step] = [
    (100, "S", [["a", 3, 100], [None, None, 100], ["b", 1, 110]]),
    (300, "S", [["a", 2, 300]]),
    (900, TICK, []),
    (1000, "S", [["b", 9, 1000], ["c", 0, 1000]]),
    (3000, TICK, []),
]


@pytest.mark.parametrize(
    "window", ["sort(2, s)", "delay(300)", "frequent(1, s)", "expression('i > 1')"]
)
@pytest.mark.parametrize(
    "rest",
    [
        "select s, i insert all events into O;",
        "select s, i insert into O;",
        "select s, sum(i) as t, count() as n group by s insert into O;",
        "[i > 1] select max(i) as m insert expired events into O;",
    ],
)
def test_what_it_lets_out_goes_on_in_columns(window: str, rest: str) -> None:
    """Events of the slice and of those before it, timers, and its state in a snapshot."""
    text = f"{S}from S#window.{window}{rest if rest[0] == '[' else ' ' + rest}"
    unit = unit_of(text, HostedWindowQuery)
    assert isinstance(unit._hosted, HostedWindow)
    assert (unit.shows_timers, unit.hears_timers) == (True, False)
    played(text, *STEPS, rule=HOSTED_WINDOWS.name)


def test_behind_timers_of_others() -> None:
    """A window by time that has columns takes this second form there."""
    text = (
        f"{S}from S#window.delay(200) select s, i insert into D;"
        " from D#window.time(300) select s, count() as n insert all events into O;"
    )
    brought = played(text, *STEPS, rule=HOSTED_WINDOWS.name)
    assert brought


def test_not_in_partitions() -> None:
    """Each instance would need an engine of its own."""
    query = "from S#window.frequent(1, s) select s, i insert into O;"
    text = f"{S}partition with (s of S) begin {query} end; from S select s insert into P;"
    assert "frequent in a partition" in reasons(text)[0]
