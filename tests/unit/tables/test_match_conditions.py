"""What of a condition a hash index may serve, and that null and mixed numbers stay right."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.operators.contract import JoinedEvent, MatchedEvent, StreamEvent
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.tables.meaning import Match
from lockstep.tables.meaning.conditions import conjuncts, equalities
from tests.unit.operators.plain_context import (
    B,
    D,
    F,
    I,
    L,
    PlainContext,
    S,
    beside,
    equal,
    more,
    of,
    schema,
)

ALL = {"s": S, "i": I, "l": L, "f": F, "d": D, "b": B}
E, T = schema("E", **ALL), schema("T", **ALL)
SCOPE = beside(E, T)


@pytest.mark.parametrize(
    ("row", "event", "is_served"),
    [
        ("s", "s", True),
        ("b", "b", True),
        ("i", "l", True),
        ("d", "i", True),
        ("d", "f", True),
        ("l", "d", False),
        ("f", "i", False),
        ("l", "f", False),
    ],
)
def test_only_exact_comparisons_are_hashed(row: str, event: str, is_served: bool) -> None:
    """Numbers that Java compares in a narrower type are left to the condition."""
    found, exact = equalities(equal(of("T", row), of("E", event)), SCOPE, 1)
    assert (len(found) == 1, exact) == (is_served, is_served)


def test_parts_beside_equalities_make_it_inexact() -> None:
    """`and` is taken apart, `or` is not."""
    both = ast.And(equal(of("E", "s"), of("T", "s")), more(of("T", "i"), of("E", "i")))
    found, exact = equalities(both, SCOPE, 1)
    assert [each.attribute for each in found] == [0]
    assert not exact
    either = ast.Or(equal(of("E", "s"), of("T", "s")), equal(of("E", "i"), of("T", "i")))
    assert equalities(either, SCOPE, 1) == ((), False)
    assert len(list(conjuncts(ast.And(both, either)))) == 3


def test_a_value_that_reads_the_row_is_no_key() -> None:
    """`T.i == T.l` depends on the row itself."""
    assert equalities(equal(of("T", "i"), of("T", "l")), SCOPE, 1) == ((), False)


def test_the_row_may_stand_on_either_side() -> None:
    """Slot 0 is looked for when the right side of a join triggers."""
    found, exact = equalities(equal(of("E", "s"), of("T", "s")), SCOPE, 0)
    assert [each.attribute for each in found] == [0]
    assert exact


def event(**values: object) -> StreamEvent:
    """An event of E or T; what is not named is null."""
    return StreamEvent(1, tuple(values.get(name) for name in ALL))


def test_null_matches_nothing_by_equality() -> None:
    """Not even null."""
    match = Match(equal(of("E", "s"), of("T", "s")), SCOPE, 1, PlainContext())
    assert match.rows(event(), [event(), event(s="a")]) == []
    assert match.key(event(s="a"), (0,)) == ("a",)


def test_rows_are_placed_in_their_slot() -> None:
    """With the row on the left, E is the row and T the event."""
    match = Match(more(of("E", "i"), of("T", "i")), SCOPE, 0, PlainContext())
    low, high = event(i=1), event(i=9)
    assert match.rows(event(i=5), [low, high]) == [high]
    assert match.any(event(i=5), [low, high])
    assert not match.any(event(i=9), [low, high])


def test_rows_beside_what_a_pattern_bound() -> None:
    """In MATCHED scopes the row stands behind the bound events; joined events become slots."""
    scope = Scope(Shape.MATCHED, (*SCOPE.sources, Source(T, ("Table",))))
    condition = equal(of("Table", "i"), ast.Variable("i", "E"))
    match = Match(condition, scope, 2, PlainContext())
    one, two = event(i=1), event(i=2)
    bound = MatchedEvent(3, [two, one])
    assert match.rows(bound, [one, two]) == [two]
    assert match.any(JoinedEvent(3, one, None), [one])
    assert bound.slots == [two, one]


def test_without_condition_all_match() -> None:
    """A missing `on` pairs everything."""
    match = Match(None, SCOPE, 1, PlainContext())
    held = [event(i=1), event()]
    assert match.rows(event(), held) == held
    assert match.exact
    assert not match.any(event(), [])


def test_a_store_alone_is_looked_at_by_row() -> None:
    """STREAM scopes have no event beside the row."""
    scope = Scope(Shape.STREAM, (Source(T, ("T",)),))
    five = ast.Constant(5, AttributeType.INT)
    match = Match(equal(of("T", "i"), five), scope, 0, PlainContext())
    assert match.rows(None, [event(i=4), event(i=5)])[0].data[1] == 5
    assert match.key(None, (1,)) == (5,)
