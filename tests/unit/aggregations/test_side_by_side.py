"""Aggregations in columns, and joins that read them, bring what the reference brings."""

from __future__ import annotations

import pytest

from lockstep.aggregations.columns.join import AggregationJoin
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
