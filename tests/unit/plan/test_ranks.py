"""Who fires first when several timers are due at once."""

from __future__ import annotations

import pytest

from lockstep.plan import build
from lockstep.plan.ranks import ranks_of
from lockstep.siddhiql import check
from lockstep.testing import VirtualApp

APP = """
define stream S (s string, v int);
define trigger Beat at every 1 sec;
@info(name='first') from S#window.timeBatch(1 sec) select count() as n insert into A;
@info(name='second') from S#window.timeBatch(1 sec) select sum(v) as n insert into B;
partition with (s of S) begin
@info(name='inner') from S#window.timeBatch(1 sec) select s insert into C;
end;
"""


def test_the_order_of_the_text() -> None:
    """Triggers stand in front of queries; queries and partitions have their places."""
    ranks = ranks_of(build(check(APP)))
    assert list(ranks.values()) == [-1, 0, 1, 2]
    assert ranks["trigger/Beat"] == -1
    assert ranks["query/second"] == 1


@pytest.mark.parametrize("names", [("", ""), ("a", "b"), ("of/a", "of/b"), ("a/b", "a")])
def test_whoever_asked_first(names: tuple[str, str]) -> None:
    """The second query had its timer before the first one, and still comes behind it."""
    first, second = (f"@info(name='{name}')" if name else "" for name in names)
    text = f"""
    define stream S (v int);
    {first}
    from S[v > 1]#window.timeBatch(1 sec) select 'first' as who insert into O;
    {second}
    from S#window.timeBatch(1 sec) select 'second' as who insert into O;
    """
    with VirtualApp(text) as app:
        app.send("S", [1])
        app.send("S", [2])
        app.advance(1000)
        assert [event.data for event in app.stream("O")] == [("first",), ("second",), ("second",)]
