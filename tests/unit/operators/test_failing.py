"""Chunks of which a part fails."""

from __future__ import annotations

import pytest

from lockstep.events import describe
from lockstep.operators.contract import StreamEvent
from lockstep.operators.failing import MAX_PARTS, Failures, PartsFailedError, parts_of
from lockstep.testing import VirtualApp


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


def failing(count: int) -> list[tuple[StreamEvent, ValueError]]:
    """So many events, each with an error of its own."""
    return [(event, ValueError(event.timestamp_ms)) for event in events(count)]


def test_what_fails_behind_the_last_part_joins_it() -> None:
    """All events stay in order. The reason says that there are others, and what the first was."""
    failures, told = Failures(), failing(MAX_PARTS + 3)
    for event, error in told:
        failures.add([event], error)
    *exact, (events_of_last, reason) = failures.parts
    assert exact == [([event], error) for event, error in told[: MAX_PARTS - 1]]
    assert events_of_last == [event for event, _ in told[MAX_PARTS - 1 :]]
    number = MAX_PARTS - 1
    assert describe(reason) == (
        f"SeveralFailedError: ValueError: {number}"
        " (and others behind it, for this or other reasons)"
    )


def test_as_many_parts_as_there_may_be_keep_their_reasons() -> None:
    """The last one, too, and neighbours that fail of the same change nothing."""
    failures, told = Failures(), failing(MAX_PARTS + 1)
    for event, _ in told:
        failures.add([event], ValueError(min(event.timestamp_ms, MAX_PARTS - 1)))
    assert len(failures.parts) == MAX_PARTS
    assert describe(failures.parts[-1][1]) == f"ValueError: {MAX_PARTS - 1}"
    assert len(failures.parts[-1][0]) == 2


def test_parts_of_several_receivers_are_as_few() -> None:
    """What is told of one by one and what was joined already are joined once more."""
    inner, outer, (first, *told) = Failures(), Failures(), failing(2 * MAX_PARTS)
    outer.add([first[0]], first[1])
    for event, error in told:
        inner.add([event], error)
    chunk = [event for event, _ in told]
    outer.add(chunk, PartsFailedError(inner.parts))
    assert len(outer.parts) == MAX_PARTS
    assert [event for part, _ in outer.parts for event in part] == [first[0], *chunk]
    assert describe(outer.parts[-1][1]).count("others") == 1


STREAM = "define stream S (k string, t string); define stream Out (k string, n long); "
KEPT = "select k, math:parseLong(t) as n insert into Out; "
MANY = {
    "partition": "partition with (k of S) begin from S " + KEPT + "end;",
    "key": "partition with (math:parseLong(t) of S) begin from S " + KEPT + "end;",
    "table": "define table T (k string, t string); from S update or insert into T "
    "set T.t = convert(math:parseLong(t), 'string') on T.k == k; from S " + KEPT,
}


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_many_events_of_a_chunk_are_few_letters(text: str, executor: str) -> None:
    """Each has a value of its own, so no two reasons are the same. All are told, and the others
    come."""
    bad = [(f"bad{at}", f"word {at}") for at in range(50)]
    good = [(f"good{at}", str(at)) for at in range(50)]
    with VirtualApp(STREAM + text, executor=executor) as app:
        app.send_many("S", bad)  # now there are rows in the table that they meet
        before = len(app.faults())
        app.send_many("S", [row for pair in zip(bad, good, strict=True) for row in pair])
        faults = app.faults()[before:]
        assert len(faults) == MAX_PARTS
        assert [event.data for fault in faults for event in fault.events] == bad
        last = "SeveralFailedError: EventError: 'word 15' is no long (and others"
        assert faults[-1].reason.startswith(last)
        assert [event.data for event in app.stream("Out")] == [(k, int(t)) for k, t in good]
