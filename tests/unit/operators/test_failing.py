"""Chunks of which a part fails."""

from __future__ import annotations

import pytest

from lockstep.operators.contract import StreamEvent
from lockstep.operators.failing import Failures, PartsFailedError, parts_of


def events(count: int) -> list[StreamEvent]:
    """Some events."""
    return [StreamEvent(number, (number,)) for number in range(count)]


def test_an_event_fails_once() -> None:
    """With what it failed of first."""
    a, b, c = events(3)
    failures, first, second = Failures(), ValueError("first"), ValueError("second")
    failures.add([a], first)
    failures.add([a, b], second)
    assert failures.parts == [([a], first), ([b], second)]
    assert failures.rest_of([a, b, c]) == [c]


def test_neighbours_of_one_reason_are_one_part() -> None:
    """Else a thousand events would be a thousand letters."""
    a, b, c = events(3)
    failures = Failures()
    for event, error in ((a, ValueError("x")), (b, ValueError("x")), (c, KeyError("x"))):
        failures.add([event], error)
    assert [part for part, _ in failures.parts] == [[a, b], [c]]


def test_events_of_elsewhere_say_nothing_of_the_chunk() -> None:
    """Then all of it failed."""
    chunk, error = events(2), ValueError("x")
    named = PartsFailedError([([chunk[1]], error)])
    assert parts_of(chunk, named) == [([chunk[1]], error)]
    assert parts_of(chunk, PartsFailedError([(events(1), error)])) == [(chunk, error)]
    assert parts_of(chunk, error) == [(chunk, error)]


def test_what_goes_too_deep_is_no_such_failure() -> None:
    """It is a limit, which undoes all of the event."""
    with pytest.raises(RecursionError):
        Failures().add(events(1), RecursionError())
