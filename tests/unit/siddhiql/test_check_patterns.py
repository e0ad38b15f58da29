"""Patterns and sequences (grammar 8.3, 8.4, 14): slots, lists, scopes of filters."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import ast, check
from lockstep.siddhiql.checked import CheckedPattern, CheckedQuery
from lockstep.siddhiql.scope import Shape
from tests.unit.siddhiql.refusals import STREAMS, error_of_query, says


def _pattern(text: str) -> tuple[CheckedQuery, CheckedPattern]:
    query = check(f"{STREAMS}{text}").execution[0]
    assert isinstance(query, CheckedQuery)
    assert isinstance(query.input, CheckedPattern)
    return query, query.input


def test_slots_are_in_order_of_writing() -> None:
    """Every state has a slot, absent ones and unnamed ones too."""
    _, pattern = _pattern(
        "from every (e1=S or e2=R) -> R[i > 1] -> e4=S<2:3> -> not R for 1 sec "
        "select e1.s as a, e4[0].i as b insert into O;"
    )
    assert [state.reference for state in pattern.states] == ["e1", "e2", None, "e4", None]
    assert [state.slot for state in pattern.states] == [0, 1, 2, 3, 4]
    assert [state.is_list for state in pattern.states] == [False, False, False, True, False]
    assert pattern.scope.shape is Shape.MATCHED


@pytest.mark.parametrize("repeat", ["<2:>", "<:2>", "<2>"])
def test_counted_states_are_lists(repeat: str) -> None:
    """`e1.v` is the list, as an object; with an index it has the attribute's type."""
    query, _ = _pattern(
        f"from e1=S{repeat} -> e2=R "
        "select e1.i as all, e1[0].i as first, e1[last-1].l as before, e2.i as last insert into O;"
    )
    types = AttributeType
    assert query.output.types == (types.OBJECT, types.INT, types.LONG, types.INT)
    reference = query.scope.resolve(ast.Variable("i", "e1", ast.EventIndex(0)))
    assert (reference.slot, reference.is_list) == (0, True)


@pytest.mark.parametrize("repeat", ["+", "*", "?"])
def test_repeated_states_of_sequences_are_lists(repeat: str) -> None:
    """Also `?`, which holds at most one."""
    query, pattern = _pattern(f"from every e1=S{repeat}, e2=R select e1.i as x insert into O;")
    assert query.output.types == (AttributeType.OBJECT,)
    assert pattern.states[0].is_list


def test_filters_see_their_own_event_first() -> None:
    """Unqualified names mean the own stream; other states by reference."""
    _, pattern = _pattern(
        "from e1=S -> e2=S[i > e1.i and S.l > 1L and e2.l > 2L] select e2.i as x insert into O;"
    )
    scope = pattern.states[1].scope
    assert scope.preferred == 1
    assert scope.resolve(ast.Variable("i")).slot == 1
    assert scope.resolve(ast.Variable("i", "S")).slot == 1
    assert scope.resolve(ast.Variable("i", "e1")).slot == 0


def test_a_counted_state_sees_one_event_of_its_own() -> None:
    """In its own filter the candidate is one event, `e1[last]` the one before."""
    _pattern("from e1=S[i > 1 and e1[last].i < i]<2:> -> R select e1[0].i as x insert into O;")


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from e1=S -> e1=R select e1.s insert into O;", ("two events are called 'e1'",)),
        ("from e1=S -> e2=R select i insert into O;", ("ambiguous", "e1.i")),
        ("from e1=S -> e2=R select e3.i insert into O;", ("reference 'e3'", "there is e1, e2")),
        ("from e1=S -> e2=R[x > e1.i] select e1.i insert into O;", ("'x' is not",)),
        ("from e1=S -> e2=R[i > e3.i] select e1.i insert into O;", ("'e3'",)),
        ("from e1=T -> e2=R select e1.i insert into O;", ("cannot stand in a pattern",)),
        ("from e1=X -> e2=R select e1.i insert into O;", ("'X' is not defined",)),
        ("from e1=S<2> -> e2=R[i > e1.i] select e2.i insert into O;", ("object",)),
        ("from e1=S -> e2=R select * insert into O;", ("two output attributes",)),
        ("from S -> S select S.i as x insert into O;", ("stands for 2 inputs",)),
    ],
)
def test_refused_patterns(query: str, parts: tuple[str, ...]) -> None:
    """Names and attributes of states."""
    says(error_of_query(query), *parts)


def test_streams_name_states_without_reference() -> None:
    """A state without `e1=` answers to its stream's name where that is unambiguous."""
    query, _ = _pattern("from S -> e2=R select S.l as x, l as y, e2.i as z insert into O;")
    assert query.output.types == (AttributeType.LONG, AttributeType.LONG, AttributeType.INT)


def test_null_tests_of_events() -> None:
    """`e1 is null` tests the event, `e1[1] is null` one of a list, `e1.i is null` an attribute."""
    query, _ = _pattern(
        "from e1=S<1:3> or e2=R -> e3=S select e1[1] is null as a, e2 is null as b, "
        "e2.i is null as c, eventTimestamp(e3) as d insert into O;".replace("e1=S<1:3>", "e1=S")
    )
    expressions = [item.expression for item in query.selection]
    assert expressions[0] == ast.IsNull(ast.EventReference("e1", ast.EventIndex(1)))
    assert expressions[1] == ast.IsNull(ast.EventReference("e2"))
    assert expressions[2] == ast.IsNull(ast.Variable("i", "e2"))


def test_functions_in_states_add_attributes() -> None:
    """A stream function inside a state adds attributes that filters and select know."""
    query, pattern = _pattern(
        "from e1=S#pol2Cart(d, d)[x > 1.0] -> e2=R select e1.x as x insert into O;"
    )
    assert pattern.states[0].stream.schema.names[-2:] == ("x", "y")
    assert query.output.types == (AttributeType.DOUBLE,)
