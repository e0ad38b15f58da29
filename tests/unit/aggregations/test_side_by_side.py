"""Aggregations in columns, and joins that read them, bring what the reference brings."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.aggregations.columns.join import AggregationJoin
from lockstep.aggregations.columns.level import Level
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.aggregations.join_rule import AGGREGATION_JOIN
from lockstep.aggregations.rule import aggregation_units
from lockstep.columns.pool import StringPool
from lockstep.plan import plan_of
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import Step, played, reasons, unit_of

STREAMS = "define stream S (k string, v int, d double); define stream Ask (k string, per string); "
AGGREGATION = (
    "define aggregation A from S[v > 0 or v is null] select k, sum(v) as total, avg(d) as mean,"
    " min(v) as least, count() as n, distinctCount(v) as kinds, d as last group by k"
    " aggregate every sec ... min; "
)
JOIN = (
    "from Ask {} join A on A.k == Ask.k within 0L, 1000000L per Ask.per select Ask.k as k,"
    " A.total as total, A.mean as mean, A.least as least, A.n as n, A.kinds as kinds,"
    " A.last as last insert into O;"
)
STEPS: list[Step] = [
    (500, "Ask", [["a", "sec"]]),
    (1_000, "S", [["a", 1, 0.5], ["b", None, None], ["a", 1, None], ["a", -4, 9.0]]),
    (1_500, "Ask", [["a", "sec"], ["b", "min"], [None, "sec"]]),
    (2_200, "S", [["a", 7, 1.5], [None, 2, 2.5]]),
    (61_000, "S", [["b", 3, -0.0]]),
    (61_000, "Ask", [["a", "sec"], ["a", "min"], ["b", "min"], ["z", "sec"]]),
]


@pytest.mark.parametrize("kind", ["", "left outer"])
def test_reads_at_their_moments(kind: str) -> None:
    """Between the events of one slice, of every granularity; nulls have no key."""
    text = STREAMS + AGGREGATION + JOIN.format(kind)
    assert unit_of(text, AggregationJoin).reads[0] == "Ask"
    rows = [row for chunk in played(text, *STEPS, rule=AGGREGATION_JOIN.name) for row in chunk]
    assert [row for row in rows if row[0] == "a" and row[1] is not None] == [
        ("a", 2, 0.25, 1, 2, 1, None),
        ("a", 2, 0.25, 1, 2, 1, None),
        ("a", 7, 1.5, 7, 1, 1, 1.5),
        ("a", 9, 2 / 3, 1, 3, 2, 1.5),
    ]


@pytest.mark.parametrize("executors", [("reference", "columnar"), ("columnar", "reference")])
def test_buckets_go_over(executors: tuple[str, str]) -> None:
    """From either executor to the other, by a snapshot."""
    question = "from A within 0L, 1000000L per 'sec' select k, total, mean, n, kinds, last"
    answers = []
    for first, second in (("reference", "reference"), executors):
        app = VirtualApp(STREAMS + AGGREGATION, executor=first)
        app.send_many("S", STEPS[1][2])
        app = VirtualApp.restore(STREAMS + AGGREGATION, app.snapshot(), executor=second)
        app.send_many("S", STEPS[3][2])
        answers.append(app.on_demand(question))
    assert answers[0] == answers[1] != []


def test_which_aggregations_have_columns() -> None:
    """Those with a store of their own have not, and say so."""
    stored = "@store(type='rdbms') " + AGGREGATION.replace("A", "B", 1)
    plan = plan_of(STREAMS + AGGREGATION + stored)
    found = aggregation_units(plan, StringPool())
    assert isinstance(found["A"], AggregationUnit)
    assert "its buckets go to a store" in str(found["B"])


def test_a_window_beside_the_aggregation_stays_on_the_reference() -> None:
    """With the reason; a filter on the aggregation's side has columns."""
    text = STREAMS + AGGREGATION + JOIN.format("")
    assert not reasons(text.replace("join A", "join A[n > 1L]"))
    windowed = text.replace("from Ask ", "from Ask#window.length(2) ")
    assert "a window or function on a side of a join" in reasons(windowed)[0]


CALENDAR = (
    "define stream S (at long, v int); define stream Ask (span string); "
    "define aggregation A from S select sum(v) as total, count() as n aggregate by at"
    " every sec ... year; "
)
EACH = ("sec", "min", "hours", "days", "months", "years")
YEAR_10000 = 253_402_300_800_000
BACK_TO_MIDNIGHT = 1_603_587_600_000
"""In the Azores the clock went from one o'clock back to midnight then."""


def totals(app: VirtualApp) -> list[list[tuple[object, ...]]]:
    """What the aggregation holds, by granularity."""
    question = f"from A within 0L, {2 * YEAR_10000}L per '{{}}' select total, n"
    return [app.on_demand(question.format(each)) for each in EACH]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_span_that_cannot_be_read_is_a_fault_of_its_event(executor: str) -> None:
    """The app goes on with the next event."""
    join = "from Ask join A within Ask.span per 'days' select A.total as total insert into O;"
    app = VirtualApp(CALENDAR + join, executor=executor)
    app.send("S", [1000, 7])
    bad = ["9999-**-** **:**:**", "2020-**-** **:**:** +99:99", "2020-06-01 00:00:00 -24:00"]
    for span in bad:
        app.send("Ask", [span])
    app.send("Ask", ["1970-**-** **:**:**"])
    assert [event.data for event in app.stream("O")] == [(7,)]
    assert [fault.events[0].data for fault in app.faults()] == [(span,) for span in bad]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_an_event_that_no_calendar_has_leaves_nothing(executor: str) -> None:
    """Nor does what came with it: the chunk is dropped, in the fine buckets too."""
    app = VirtualApp(CALENDAR, executor=executor)
    app.send_many("S", [[1000, 1], [YEAR_10000, 2]])
    app.send("S", [YEAR_10000, 4])
    assert totals(app) == [[] for _ in EACH]
    app.send("S", [1000, 8])
    assert totals(app) == [[(8, 1)] for _ in EACH]
    assert len(app.faults()) == 2


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_day_with_two_midnights_is_one_bucket(executor: str) -> None:
    """So is its month and its year; its repeated hour is two."""
    app = VirtualApp("@app:aggTimeZone('Atlantic/Azores') " + CALENDAR, executor=executor)
    for hours, value in ((-0.5, 1), (0.5, 2), (12, 4)):
        app.send("S", [BACK_TO_MIDNIGHT + int(hours * 3_600_000), value])
    _, _, of_hours, *longer = totals(app)
    assert of_hours == [(1, 1), (2, 1), (4, 1)]
    assert longer == [[(7, 3)]] * 3


def test_a_clock_that_goes_far_ahead_costs_a_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all purges that are due then, those with no event in between are one."""
    looks: list[int] = []
    purge = Level.purge

    def counted(self: Level, before_ms: Any, number: int) -> None:
        looks.append(len(before_ms))
        purge(self, before_ms, number)

    monkeypatch.setattr(Level, "purge", counted)
    text = (
        "define stream S (k string, v int); @purge(enable='true', interval='1 min',"
        " @retentionPeriod(sec='2 min', min='2 hours')) define aggregation A from S"
        " select k, sum(v) as total group by k aggregate every sec ... min;"
    )
    question = "from A within 0L, 400000000000000L per '{}' select AGG_TIMESTAMP, k, total"
    found = []
    for executor in ("reference", "columnar"):
        app = VirtualApp(text, executor=executor)
        for passed_ms in (1_000, 1_000, 50_000_000, 1_000):
            app.advance(passed_ms)
            app.send("S", ["a", 1])
        found.append([app.on_demand(question.format(per)) for per in ("sec", "min")])
    assert found[0] == found[1]
    assert sum(looks) > 2 * 800
    assert len(looks) <= 16
