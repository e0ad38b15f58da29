"""What events and matches of patterns are in columns, and in the reference's form."""

from __future__ import annotations

from dataclasses import replace

from lockstep.columns.column import from_values
from lockstep.columns.held import HeldRows
from lockstep.columns.played import play
from lockstep.columns.pool import StringPool
from lockstep.patterns.columns.query import PatternQuery
from lockstep.patterns.columns.rows import bound_column, eligible
from lockstep.patterns.columns.state import PatternState
from lockstep.testing import VirtualApp
from tests.unit.columns.flows import INT, STRING, chunks, longs
from tests.unit.side_by_side import unit_of

TEXT = (
    "define stream S (s string, i int); define stream R (s string, i int);"
    " from every (e1=S[i > 1]<1:2> -> e2=R) -> e3=S[s == 'a' and i < 3]"
    " select e1[0].i as i, e2.s as s insert into O;"
)


def test_which_states_an_event_may_fill() -> None:
    """A bit for each slot of its stream whose own condition it fulfils; null fulfils none."""
    states = unit_of(TEXT, PatternQuery)._states
    stream = replace(
        chunks([0, 0, 0], [0]),
        columns=(from_values(STRING, ["a", "a", "b", None]), from_values(INT, [2, 1, 5, None])),
    )
    other = replace(
        chunks([0], first_moment=9), columns=(from_values(STRING, [None]), from_values(INT, [None]))
    )
    inputs = {"S": stream, "R": other}
    found = eligible(states, inputs, play([stream, other], 0))
    assert found.tolist() == [0b101, 0b100, 0b001, 0, 0b010]
    assert eligible(states, {"R": other}, play([other], 0)).tolist() == [0b010]


def test_what_a_match_has_bound() -> None:
    """Events of the slice, held ones, and none at all: alone and mixed."""
    state = unit_of(TEXT, PatternQuery)._states[0]
    stream = replace(
        chunks([0, 0]), columns=(from_values(STRING, ["x", "y"]), from_values(INT, [1, None]))
    )
    inputs, played = {"S": stream}, play([stream], 0)
    held = HeldRows((STRING, INT), StringPool())
    held.add([from_values(STRING, ["h", None]), from_values(INT, [7, 8])], longs(5, 6))
    for refs, texts, numbers in (
        (longs(1, 0), ["y", "x"], [None, 1]),
        (longs(-2, -3), ["h", None], [7, 8]),
        (longs(-1, 0, -2), [None, "x", "h"], [None, 1, 7]),
        (longs(), [], []),
    ):
        found = [bound_column(state, held, i, refs, inputs, played).to_pylist() for i in range(2)]
        assert found == [texts, numbers]


def test_tokens_go_over_and_back() -> None:
    """With all that they have bound; who shares an event shares it still."""
    app = VirtualApp(TEXT)
    for stream, number in (("S", 2), ("S", 3), ("R", 0), ("S", 9), ("S", 8)):
        app.send(stream, ["b", number])
    expected = VirtualApp.restore(TEXT, app.snapshot())
    columns = VirtualApp.restore(TEXT, app.snapshot(), executor="columnar")
    again = VirtualApp.restore(TEXT, columns.snapshot())
    for each in (expected, columns, again):
        each.send_many("S", [["a", 2], ["a", 1]])
        each.send("R", ["r", 0])
        each.send("S", ["a", 2])
    assert expected.stream("O")
    assert columns.observations == again.observations == expected.observations
    assert isinstance(unit_of(TEXT, PatternQuery)._partial, PatternState)
