"""Aggregates over pairs that leave otherwise than they came: in columns as on the reference."""

from __future__ import annotations

import pytest

from lockstep.aggregators.by_meaning import AggregatesByMeaning
from lockstep.joins.columns.flow_join import FlowJoin
from lockstep.joins.rule import WINDOW_JOINS
from lockstep.tables.join import TableJoin
from lockstep.tables.rule import TABLE_JOIN
from tests.unit.side_by_side import TICK, Step, played, unit_of

STREAMS = "define stream L (k string, v int); define stream R (k string, v int); "
STEPS: list[Step] = [
    (100, "L", [["a", 1], ["b", 2], [None, 3]]),
    (200, "R", [["a", 10], [None, 20], ["c", 30]]),
    (250, "L", [["c", 4], ["a", None]]),
    (450, "R", [["a", 40], ["b", None], ["a", 10]]),
    (800, TICK, []),
    (900, "L", [["b", 6], ["a", 7], ["b", 8]]),
    (1000, "R", [["b", 50]]),
    (2000, TICK, []),
]
TOTALS = "count() as n, sum(r.v) as s, min(r.v) as m, avg(l.v) as a"
SELECTS = [
    f"select {TOTALS}",
    f"select l.k as k, {TOTALS} group by l.k",
    f"select r.k as k, {TOTALS} group by r.k having n >= 0 order by k",
]


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("events", ["", "all events "])
@pytest.mark.parametrize(
    "joined",
    [
        "L#window.length(2) as l left outer join R#window.length(2) as r",
        "L#window.length(2) as l full outer join R#window.time(300) as r",
        "L#window.lengthBatch(2) as l join R#window.length(2) as r",
        "L#window.length(2) as l unidirectional join R#window.length(2) as r",
        "L#window.length(2) as l join L#window.length(3) as r",
        "L as l left outer join R#window.length(2) as r",
    ],
)
def test_windows(joined: str, events: str, select: str) -> None:
    """Outer joins, batches, one side that triggers, and a stream beside itself."""
    text = f"{STREAMS}from {joined} on l.k == r.k {select} insert {events}into O;"
    if joined.startswith("L#"):
        assert isinstance(unit_of(text, FlowJoin)._selector.aggregates, AggregatesByMeaning)
    assert played(text, *STEPS, rule=WINDOW_JOINS.name)


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("window", ["length(2)", "length(0)", "lengthBatch(2)", "time(300)"])
def test_a_table_that_changes_while_an_event_stays(window: str, select: str) -> None:
    """What leaves meets other rows than what came."""
    text = (
        f"{STREAMS}define table T (k string, v int); from R select k, v insert into T;"
        f" from R[v > 20] select k delete T on T.k == k;"
        f" from L#window.{window} as l join T as r on l.k == r.k {select} insert into O;"
    )
    assert isinstance(unit_of(text, TableJoin)._selector.aggregates, AggregatesByMeaning)
    assert played(text, *STEPS, rule=TABLE_JOIN.name)


@pytest.mark.parametrize("select", SELECTS)
def test_a_named_window_that_others_read_too(select: str) -> None:
    """It is inside at once, and gets to the join when that is its turn."""
    text = (
        f"{STREAMS}define window W (k string, v int) lengthBatch(2);"
        " from L select k, v insert into W; from W select k, v insert into R;"
        f" from W as l join R#window.length(1) as r on l.k == r.k {select} insert into O;"
    )
    assert isinstance(unit_of(text, FlowJoin)._selector.aggregates, AggregatesByMeaning)
    assert played(text, *STEPS, rule=WINDOW_JOINS.name)
