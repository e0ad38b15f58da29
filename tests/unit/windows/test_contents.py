"""What batches collect."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.operators.contract import StreamEvent
from lockstep.windows.contents import EveryEvent, FirstOfKey, LatestOfKey


def key(event: StreamEvent) -> Any:
    """The first attribute."""
    return event.data[0]


EVENTS = [StreamEvent(n, data) for n, data in enumerate([("a", 1), ("b", 2), ("a", 3)])]
KINDS = pytest.mark.parametrize(
    ("make", "expected"),
    [
        (EveryEvent, [("a", 1), ("b", 2), ("a", 3)]),
        (lambda: LatestOfKey(key), [("a", 3), ("b", 2)]),
        (lambda: FirstOfKey(key), [("a", 1), ("b", 2)]),
    ],
    ids=["every", "latest", "first"],
)


@KINDS
def test_what_is_collected_is_taken_once(make: Any, expected: list[Any]) -> None:
    """In order of the keys' first events; then the batch is empty."""
    contents = make()
    for event in EVENTS:
        contents.add(event)
    assert len(contents) == len(expected)
    assert [event.data for event in contents.held()] == expected
    assert [event.data for event in contents.take()] == expected
    assert contents.held() == []


@KINDS
def test_what_is_held_is_taken_over(make: Any, expected: list[Any]) -> None:
    """Another one goes on with it."""
    contents, other = make(), make()
    for event in EVENTS:
        contents.add(event)
    other.restore(contents.held())
    other.add(StreamEvent(9, ("c", 4)))
    assert [event.data for event in other.held()] == [*expected, ("c", 4)]
