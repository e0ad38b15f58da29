"""The condition of expression windows."""

from __future__ import annotations

import pytest

from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError
from lockstep.windows.running_condition import ConditionedWindow, RunningCondition
from tests.unit.operators.plain_context import PlainContext
from tests.unit.windows.played import Played, call_of, row


def test_events_inside_are_counted() -> None:
    """As they enter and leave; the first and the last are seen."""
    played = Played("expression('count() <= 2 and last.l - first.l < 5')")
    assert [played.shown(n, row(n, n)) for n in (1, 2, 3)] == [["C1"], ["C2"], ["X1 C3"]]
    assert played.shown(9, row(9, 9)) == ["X2 X3 C9"]


def test_a_condition_goes_on_from_what_was_saved() -> None:
    """With its text and its aggregators."""
    call = call_of("length(3)", PlainContext())
    made = [RunningCondition("sum(d) < 9.0", call.scope, call.context) for _ in range(2)]
    events = [event for chunk in Played("length(3)").at(1, row(1, 1), row(2, 1)) for event in chunk]
    made[0].enter(events[0])
    text, states = made[0].snapshot()
    assert text == "sum(d) < 9.0"
    made[1].restore(states)
    made[1].enter(events[1])
    assert not made[1].holds(events[0], events[1])
    made[1].leave(events[1])
    assert made[1].holds(events[0], events[0])
    made[1].clear()
    assert not made[1].holds(events[0], events[0])


def test_a_text_attribute_is_the_condition_of_the_moment() -> None:
    """A null is none, and a text that is none is an error of the event."""
    window = ConditionedWindow(call_of("expression(k)", PlainContext()))
    assert window._changes("count() < 3")
    assert not window._changes("count() < 3")
    assert window._changes("count() < 4")
    with pytest.raises(EventError, match="the condition of an expression window is null"):
        window._changes(None)
    with pytest.raises(SiddhiQLError):
        window._changes("count() <")
