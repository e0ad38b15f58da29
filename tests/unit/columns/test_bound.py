"""What a pattern's expressions read has a number of its own."""

from __future__ import annotations

from lockstep.columns.bound import SLOTS_MAX, Bound, bounds_in
from lockstep.plan import plan_of
from lockstep.siddhiql.checked import CheckedQuery


def test_what_an_expression_reads() -> None:
    """Whatever stands around it; an event reference as well as an attribute."""
    app = (
        "define stream S (s string, i int); from every e1=S<1:3> -> e2=S select"
        " ifThenElse(not (e1[0].i > e2.i) and e1[last-1] is null, e1[last].s, e2.s) as x"
        " insert into O;"
    )
    (query,) = plan_of(app).checked.execution
    assert isinstance(query, CheckedQuery)
    expression = query.selection[0].expression
    assert list(bounds_in(expression, query.scope)) == [
        Bound(0, 0),
        Bound(1),
        Bound(0, 1, from_last=True),
        Bound(0, 0, from_last=True),
        Bound(1),
    ]


def test_numbers_are_different() -> None:
    """Of every slot, every offset, from the first and from the last."""
    made = [
        Bound(slot, offset, last)
        for slot in range(SLOTS_MAX)
        for offset, last in [(None, False), (0, False), (0, True), (1, False), (1, True)]
    ]
    assert len({bound.number for bound in made}) == len(made)
    assert [Bound(slot).number for slot in range(SLOTS_MAX)] == list(range(SLOTS_MAX))


def test_places() -> None:
    """A slot alone is its last event."""
    assert Bound(3).place == (3, 0, 1)
    assert Bound(3, 2).place == (3, 2, 0)
    assert Bound(3, 1, from_last=True).place == (3, 1, 1)
