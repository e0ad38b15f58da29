"""Which kind of snapshot a query is."""

from __future__ import annotations

import pytest

from lockstep.plan import QueryNode, plan_of
from lockstep.rates.snapshot.kind import Shows, kind_of

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
