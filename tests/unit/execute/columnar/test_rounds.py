"""Circles of streams in columns: round by round, and the rows are the reference's."""

from __future__ import annotations

import pytest

from lockstep.columns.column import Suspected
from lockstep.execute.columnar import ColumnarExecutor, lowering_of
from lockstep.execute.columnar.hosting import CIRCLE
from lockstep.execute.columnar.rounds import MAX_ROUNDS, Circle, goes_round, grouped
from lockstep.execute.columnar.sharding import NotSharded, roles_of
from lockstep.execute.in_process import InProcessExecutor
from lockstep.plan import plan_of
from tests.unit.side_by_side import Step, entries_of, played, reasons

STREAMS = (
    "define stream S (k string, i int); define stream A (k string, i int);"
    "define stream B (k string, i int); define table T (k string, i int);"
)
PROJECT = "filter, project, running aggregates"
IN = "from S select k, i insert into A;"
THERE = "from A[i > 0] select k, i - 1 as i insert into B;"
BACK = "from B[i != 2] select k, i insert into A;"
ALONE = "from A[i > 0] select k, i - 1 as i insert into A;"
OUT = "from A select k, i, count() as n insert into O;"
STEPS: list[Step] = [
    (100, "S", [["a", 2], ["b", 1]]),
    (200, "S", [["a", 5]]),
    (300, "A", [["c", 1]]),
    (400, "S", [["a", 0], ["b", 2], ["c", 1]]),
]


@pytest.mark.parametrize(
    "queries",
    [
        IN + THERE + BACK + OUT,
        OUT + BACK + THERE + IN,
        THERE + OUT + BACK + IN,
        IN + ALONE + OUT,
        OUT + ALONE + IN,
        IN + ALONE + THERE + BACK + OUT,
    ],
)
def test_who_feeds_each_other(queries: str) -> None:
    """In columns, whoever is asked first; who counts outside sees the rows in the order of its own
    place."""
    found = played(STREAMS + queries, *STEPS, rule=PROJECT)
    assert len(found) > len(STEPS)
    counts = [row[-1] for chunk in found for row in chunk]
    assert len(set(counts)) == len(counts)


def test_a_table_that_is_asked_on_the_way() -> None:
    """As it is then: the way from a to c is longer as soon as somebody writes the row of b."""
    queries = (
        "define stream N (k string, i int, to string); define table W (k string, i int, to string);"
        "define stream M (k string, i int); from N insert into W; from S select k, i insert into M;"
        "from M join W on M.k == W.k select W.to as k, M.i + W.i as i insert into M;"
        "from M select k, i insert into O;"
    )
    steps: list[Step] = [
        (100, "N", [["a", 3, "b"], ["a", 4, "d"]]),
        (200, "S", [["a", 0], ["b", 1]]),
        (300, "N", [["b", 10, "c"]]),
        (400, "S", [["a", 0], ["a", 1]]),
    ]
    found = played(STREAMS + queries, *steps, rule="table join")
    assert [("c", 13), ("c", 14)] in found
    assert [("b", 3), ("d", 4)] in found


def test_who_keeps_something_stays_on_the_reference() -> None:
    """With all that stand in the circle."""
    count = "from A select k, cast(count(), 'int') as i having i < 3 insert into A;"
    join = "from A#window.length(2) as a join S#window.length(2) as s on a.k == s.k"
    assert reasons(STREAMS + IN + count) == [CIRCLE]
    assert reasons(STREAMS + IN + THERE + BACK.replace("B[", "B#window.length(2)[")) == [CIRCLE] * 2
    assert reasons(STREAMS + IN + ALONE + f"{join} select a.k as k insert into J;") == [CIRCLE] * 2
    written = "from B select k, i insert into T; from A join T on A.k == T.k select A.k as k, T.i"
    assert reasons(f"{STREAMS}{IN}{written} as i insert into B;").count(CIRCLE) == 2


def test_what_goes_on_for_long_is_left_to_the_reference() -> None:
    """The places of its chunks would take too much memory."""
    plan = plan_of(STREAMS + IN + ALONE + OUT)
    short: list[Step] = [(100, "S", [["a", MAX_ROUNDS - 2]])]
    executor = ColumnarExecutor(plan, start_ms=0)
    rows = executor.run_slice(entries_of(plan, short)).rows
    assert len([row for row in rows if row.stream == "O"]) == MAX_ROUNDS - 1
    long = entries_of(plan, [(100, "S", [["a", MAX_ROUNDS]])])
    executor = ColumnarExecutor(plan, start_ms=0)
    begun = executor.snapshot()
    with pytest.raises(Suspected, match="feeds itself many times"):
        executor.run_slice(long)
    executor.restore(begun)
    reasons_now = [each.reason for each in executor.lowering.choices]
    assert reasons_now == [None, CIRCLE, None]
    rows = InProcessExecutor(plan, start_ms=0).run_slice(long).rows
    assert executor.run_slice(long).rows == rows
    assert len([row for row in rows if row.stream == "O"]) == MAX_ROUNDS + 1


def test_a_circle_is_one_part_among_others() -> None:
    """Which says what its units write and read; others stand alone."""
    units = lowering_of(plan_of(STREAMS + IN + THERE + BACK + OUT)).units
    (circle,) = (part for part in grouped(units) if isinstance(part, Circle))
    assert circle.fed == {"A", "B"}
    assert [unit.writes for unit in circle.units] == ["B", "A"]
    assert len(grouped(units)) == len(units) - 1
    assert all(goes_round(unit) for unit in circle.units)


def test_a_circle_in_front_of_a_partition_runs_in_each_shard() -> None:
    """As all that it needs."""
    behind = (
        "from A select k, i insert into P;"
        "partition with (k of P) begin from P select k, sum(i) as n insert into O; end;"
    )
    roles = roles_of(lowering_of(plan_of(STREAMS + BACK + IN + THERE + behind)).units)
    lone = {roles.parts[i].name for i in roles.lone}
    assert lone == {"table T"}


def test_a_circle_behind_a_partition() -> None:
    """Has shares of its streams; it is known of all of them, or the app is not cut."""
    part = "partition with (k of S) begin from S select k, i insert into A; end;"
    roles = roles_of(lowering_of(plan_of(STREAMS + part + THERE + BACK)).units)
    assert roles.shared >= {"A", "B"}
    with pytest.raises(NotSharded, match="stands in a circle"):
        roles_of(lowering_of(plan_of(STREAMS + part + BACK + THERE)).units)
