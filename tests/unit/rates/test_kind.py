"""Which kind of snapshot a query is."""

from __future__ import annotations

import pytest

from lockstep.plan import QueryNode, plan_of
from lockstep.rates.snapshot.kind import ONE_BY_ONE, Inside, Shows, kind_of

S = "define stream S (s string, i int); define window W (s string, i int) length(2);"
W = "S#window.length(2)"


@pytest.mark.parametrize(
    ("source", "select", "expected"),
    [
        ("S", "s, sum(i) as n group by s", Shows.LAST),
        (W, "s", Shows.CONTENT),
        (W, "s group by s", Shows.CONTENT),
        (W, "s, sum(i) as n", Shows.CONTENT),
        (W, "s, sum(i) as n group by s", Shows.GROUPS),
        (W, "sum(i) as n", Shows.NEWEST),
        ("W", "s", Shows.CONTENT),
        ("S join W on S.s == W.s", "S.s as s", Shows.CONTENT),
        ("S#window.delay(1)", "s", Shows.LAST),
        ("S#window.delay(1)", "s, sum(i) as n group by s", Shows.LAST),
        ("S#window.delay(1) as L join S#window.delay(2) as R", "L.s as s", Shows.LAST),
        ("S#window.delay(1) as L join W on L.s == W.s", "L.s as s", Shows.CONTENT),
        ("e1=S -> e2=S", "e1.s as s", Shows.LAST),
    ],
)
def test_the_kind(source: str, select: str, expected: Shows) -> None:
    """Windows, aggregators and groups tell."""
    node = plan_of(f"{S} from {source} select {select} output snapshot every 1 sec insert into O;")
    (query,) = node.nodes
    assert isinstance(query, QueryNode)
    assert kind_of(query.query).shows is expected


def test_what_shows_its_latest_values() -> None:
    """The attributes with an aggregator somewhere in them."""
    text = f"{S} from {W} select s, sum(i) + 1 as n output snapshot every 1 sec insert into O;"
    (query,) = plan_of(text).nodes
    assert kind_of(query.query).aggregated == (False, True)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (W, ONE_BY_ONE),
        ("S#window.expression('sum(i) < 10')", Inside(early=True)),
        ("S#window.expressionBatch('sum(i) < 10')[i > 0]", Inside(early=True)),
        ("S#window.frequent(2, i)[i > 0]", Inside(key=(1,))),
        ("S#window.frequent(2)", Inside(key=(0, 1))),
        ("S#window.lossyFrequent(0.1)", Inside(key=(0, 1))),
        ("S#window.lossyFrequent(0.1, 0.01, i, s)", Inside(key=(1, 0))),
        ("S#window.frequent(2, i)#json:tokenize(s, '$')", ONE_BY_ONE),
    ],
)
def test_how_rows_come_and_leave(source: str, expected: Inside) -> None:
    """The window tells, and what stands behind it."""
    text = f"{S} from {source} select s output snapshot every 1 sec insert into O;"
    (query,) = plan_of(text).nodes
    assert kind_of(query.query).inside == expected  # type: ignore[union-attr]
