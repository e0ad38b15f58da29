"""A stream without a key goes to each instance that is there, in the order in which they were made:
on the reference, in columns step by step, over restores, and as one slice."""

from __future__ import annotations

import pytest

from lockstep.partitions import columns
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import Step, played

STREAMS = "define stream L (k string, v int); define stream R (k string, v int); "
COUNTS = (
    "partition with (k of L) begin from R select k, count() as n insert into O;"
    " from L select k insert into N; end;"
)
STEPS: list[Step] = [
    (100, "R", [["r0", 1]]),  # nobody is there
    (200, "L", [["z", 1], ["a", 2]]),
    (300, "R", [["r1", 10], ["r2", 20]]),
    (400, "L", [["m", 3], ["z", 4], [None, 5]]),
    (500, "R", [["r3", 30]]),
]


def test_instances_get_whole_chunks_in_the_order_of_their_making() -> None:
    """Not in the order of their keys; each counts for itself."""
    text = STREAMS + COUNTS
    assert played(text, *STEPS, rule="filter, project, running aggregates") == [
        [("r2", 2)],
        [("r2", 2)],
        [("r3", 3)],
        [("r3", 3)],
        [("r3", 1)],
    ]


def test_a_stream_that_makes_instances_of_two_kinds_keeps_their_order() -> None:
    """L and M make instances in turns within one slice."""
    text = (
        f"{STREAMS}define stream M (k string, v int);"
        " partition with (k of L, k of M) begin"
        " from L#window.length(1) join R#window.length(1) on L.v <= R.v"
        " select L.k as k, R.k as r insert into O; from M select k insert into N; end;"
    )
    steps: list[Step] = [
        (100, "M", [["y", 1]]),
        (200, "L", [["b", 1]]),
        (300, "M", [["a", 1]]),
        (400, "L", [["a", 2], ["y", 3]]),
        (500, "R", [["r", 9]]),
    ]
    found = played(text, *steps, rule="window equi-join")
    assert found == [[("y", "r")], [("b", "r")], [("a", "r")]]


def test_an_instance_gets_what_its_own_event_brings() -> None:
    """It is made before the queries inside see the event, and those of keys further behind in the
    same send are made after what the first one brought."""
    text = (
        f"{STREAMS}partition with (k of L, k of R) begin"
        " from L select v as x insert into M; from R select v as x insert into M;"
        " from M select x, count() as n insert into O; end;"
    )
    steps: list[Step] = [
        (100, "L", [["b", 1], ["a", 2]]),
        (200, "R", [["c", 3], ["b", 4]]),
        (300, "L", [["c", 5], [None, 6]]),
    ]
    assert played(text, *steps, rule="filter, project, running aggregates") == [
        [(1, 1)],
        [(2, 2)],
        [(2, 1)],
        [(3, 3)],
        [(3, 2)],
        [(3, 1)],
        [(4, 4)],
        [(4, 3)],
        [(4, 2)],
        [(5, 5)],
        [(5, 4)],
        [(5, 3)],
    ]


def test_many_copies_are_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which brings the same rows."""
    text = STREAMS + COUNTS
    monkeypatch.setattr(columns, "MAX_COPIES", 3)
    app = VirtualApp(text, executor="columnar")
    app.send_many("L", [["a", 1], ["b", 2]])
    app.send_many("R", [["r1", 1], ["r2", 2]])
    assert [event.data for event in app.stream("O")] == [("r2", 2)] * 2
