"""Events of several streams in the order in which a receiver gets them."""

from __future__ import annotations

from lockstep.columns.order import places_of
from lockstep.columns.played import Played, play, present
from tests.unit.columns.flows import chunks, keyed, longs


def values(found: Played) -> list[int]:
    """Of all events."""
    made: list[int] = [0] * len(found)
    for each in found.streams:
        events, rows = found.of(each)
        mine = range(len(found))[events] if isinstance(events, slice) else events.tolist()
        for event, row in zip(mine, rows.tolist(), strict=True):
            made[event] = each.columns[0].to_pylist()[row]
    return made


def test_chunks_stay_whole() -> None:
    """Those of one stream stand between those of another, by the moment when they came."""
    first = chunks([1, 2], [3], at=[100, 300], first_moment=1)
    second = chunks([8, 9], at=[100], first_moment=2)
    both = play([first, second], 4)
    assert values(both) == [1, 2, 8, 9, 3]
    assert both.chunk_of.tolist() == [0, 0, 1, 1, 2]
    assert both.now.tolist() == [100, 100, 300]
    assert both.per_event(both.now).tolist() == both.times.tolist()
    assert places_of(both.order) == [(4,)] * 3
    assert both.instances().tolist() == [0] * 5


def test_one_stream_alone() -> None:
    """As it is, at the receiver's place; instances per event."""
    only = keyed(chunks([1, 2], [3]), 1, 0)
    alone = play([only], 2)
    assert values(alone) == [1, 2, 3]
    assert places_of(alone.order) == [(2,), (2,)]
    assert alone.instances().tolist() == [1, 1, 0]


def test_instances_follow_their_chunks() -> None:
    """Into the common order."""
    first = keyed(chunks([1], [2], first_moment=5), 3, 4)
    second = keyed(chunks([7], first_moment=1), 9)
    both = play([first, second], 0)
    assert both.keys is not None
    assert both.keys.tolist() == [9, 3, 4]
    assert both.stream.tolist() == [1, 0, 0]
    assert both.row.tolist() == longs(0, 0, 1).tolist()


def test_streams_on_which_nothing_came_are_not_played() -> None:
    """Only those there are, in the order asked for."""
    some, other = chunks([1]), chunks([2])
    assert present({"B": other, "A": some}, ["A", "C", "B"]) == [some, other]
