"""Joins of windows by equal values, with aggregates over what comes and goes."""

from __future__ import annotations

from lockstep.events import EventsRecord, InputEvent, LogEntry, OutputRow, TickRecord
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.explain import explain_execution
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check

STREAMS = "define stream L (k string, v double); define stream R (k string, v double);\n"
LOG = [
    LogEntry(1, EventsRecord("R", 1000, ((InputEvent(1000, ("a", 1.0)),),))),
    LogEntry(2, EventsRecord("L", 1100, ((InputEvent(1100, ("a", 0.1)),),))),
    LogEntry(3, EventsRecord("R", 1200, ((InputEvent(1200, ("a", 2.0)),),))),
    LogEntry(4, TickRecord(1450)),
    LogEntry(
        5, EventsRecord("L", 1460, ((InputEvent(1460, ("a", 0.5)), InputEvent(1460, ("b", 7.0))),))
    ),
    LogEntry(6, EventsRecord("R", 1500, ((InputEvent(1500, ("b", 4.0)),),))),
]


def plan_of(text: str) -> AppPlan:
    """An app over STREAMS."""
    return build(check(STREAMS + text))


def rows(text: str) -> list[tuple[int, tuple[object, ...]]]:
    """(position, values) of what comes out for LOG: the same on the reference, whole and cut."""
    plan = plan_of(text)
    whole = list(ColumnarExecutor(plan).run_slice(LOG).rows)
    expected: list[OutputRow] = list(ReferenceExecutor(plan).run_slice(LOG).rows)
    assert whole == expected
    cut = ColumnarExecutor(plan)
    pieces: list[OutputRow] = []
    for entry in LOG:
        pieces += cut.run_slice([entry]).rows
        snapshot = cut.snapshot()
        cut = ColumnarExecutor(plan)
        cut.restore(snapshot)
    assert pieces == expected
    return [(row.id.position, row.data) for row in whole]


def test_what_leaves_by_a_timer_is_taken_off() -> None:
    """R's first row is out at 1300, L's at 1400: each takes its pairs along."""
    text = (
        "from L#window.time(300) as l join R#window.time(300) as r on l.k == r.k"
        " select l.k as k, count() as n, sum(r.v) as s group by l.k insert into O;"
    )
    (query,) = explain_execution(plan_of(text)).queries
    assert query.rule == "window equi-join"
    assert rows(text) == [
        (2, ("a", 1, 1.0)),
        (3, ("a", 2, 3.0)),
        (5, ("a", 1, 2.0)),
        (6, ("b", 1, 4.0)),
    ]


def test_a_side_without_a_window_starts_anew_with_each_event() -> None:
    """Its event comes, goes and resets."""
    text = (
        "from L as l unidirectional join R#window.length(5) as r on l.k == r.k"
        " select l.k as k, sum(r.v) as s, count() as n insert into O;"
    )
    assert rows(text) == [(2, ("a", 1.0, 1)), (5, ("a", 3.0, 2))]


def test_groups_of_an_outer_join() -> None:
    """Who meets nobody stands alone; of each group its last row."""
    text = (
        "from L#window.length(1) as l left outer join R#window.length(1) as r on l.k == r.k"
        " select l.k as k, r.v as v group by l.k insert into O;"
    )
    assert [each.engine for each in explain_execution(plan_of(text)).queries] == ["columns"]
    assert rows(text) == [
        (2, ("a", 1.0)),
        (3, ("a", 2.0)),
        (5, ("a", 2.0)),
        (5, ("b", None)),
        (6, ("b", 4.0)),
    ]


def test_a_condition_beside_the_equal_values() -> None:
    """Only pairs that meet it count; an ordered join keeps its rows by trigger."""
    text = (
        "from L#window.length(2) as l join R#window.length(3) as r on l.k == r.k and r.v > 1.5"
        " select l.k as k, count() as n having n > 0 insert into O;"
        "from L#window.length(2) as l join R#window.length(3) as r on l.k == r.k"
        " select r.v as v order by v desc limit 1 insert into P;"
    )
    assert [each.engine for each in explain_execution(plan_of(text)).queries] == ["columns"] * 2
    rows(text)


def test_extremes_and_deviations_of_pairs() -> None:
    """Pairs leave in any order and lie in no places."""
    text = (
        "from L#window.length(2) as l join R#window.length(3) as r on l.k == r.k"
        " select max(r.v) as m, stdDev(r.v) as d, str:groupConcat(r.k) as t insert into O;"
    )
    assert [each.engine for each in explain_execution(plan_of(text)).queries] == ["columns"]
    rows(text)


def test_aggregates_of_pairs_that_leave_without_having_come() -> None:
    """They run beside the join, as the reference keeps them."""
    text = (
        "from L#window.length(2) as l left outer join R#window.length(3) as r on l.k == r.k"
        " select sum(r.v) as d insert into O; from L select k insert into P;"
    )
    query, _ = explain_execution(plan_of(text)).queries
    assert query.engine == "columns"
    rows(text)
