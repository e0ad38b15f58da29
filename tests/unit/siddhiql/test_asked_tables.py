"""Tables that are looked up: what is asked has to be known from the event alone."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from lockstep.testing import VirtualApp
from tests.unit.siddhiql.refusals import error_of_app, says

HEAD = """
define stream S (k int, name string, long_k long);
@store(type='rdbms', mode='lookup', @cache(size='10')) @PrimaryKey('k')
define table T (k int, v string);
"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("from S#window.length(5) join T on S.k == T.k select v insert into O;", ("a filter",)),
        ("from S join T on S.k > T.k select v insert into O;", ("compares no", "mode='copy'")),
        ("from S join T on S.long_k == T.k select v insert into O;", ("same type",)),
        (
            "from S select k insert into R; from R join T on R.k == T.k select v insert into O;",
            ("'R' is no stream of the door",),
        ),
        ("from S select k, ((T.k == k) in T) as b insert into O;", ("neither a join",)),
        ("from S select k, name as v insert into T;", ("read from a database",)),
    ],
)
def test_what_no_single_event_decides_is_refused(text: str, parts: tuple[str, ...]) -> None:
    """With what to do instead."""
    says(error_of_app(HEAD + text), *parts)


def test_what_is_asked() -> None:
    """Attributes and constants, through aliases, and once where two queries ask the same."""
    app = check(
        HEAD
        + """
        from S[k > 0] as s join T as t on t.k == s.k and t.v == 'x' and s.name != t.v
        select v insert into O;
        from S[(T.k == k) in T] select k insert into P;
        from S join T on S.k == T.k select v insert into Q;
        """
    )
    [asked] = app.asked
    shown = [[(name, getattr(value, "value", value)) for name, value in one.equal] for one in
             asked.lookups]  # fmt: skip
    assert shown == [[("k", "k"), ("v", "x")], [("k", "k")]]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_rows_are_there_while_the_event_goes_through(executor: str) -> None:
    """And not for the next one."""
    text = HEAD + "from S join T on S.k == T.k select S.name as name, v insert into O;"
    with VirtualApp(text, executor=executor) as app:
        app.send("S__asked", [1, None, None, None, 7, "x"])
        app.send("S__asked", [0, 7, "a", 1, None, None])
        app.send("S__asked", [2, None, None, None, 7, "x"])
        app.send("S__asked", [0, 7, "b", 1, None, None])
        assert [event.data for event in app.stream("O")] == [("a", "x")]
