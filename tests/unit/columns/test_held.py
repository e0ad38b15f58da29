"""Arrays that grow in place, and the places of held rows."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.column import Column, from_values
from lockstep.columns.growing import PAGES_FROM_BYTES, GrowingArray
from lockstep.columns.held import HeldRows, Places
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType

LARGE = PAGES_FROM_BYTES // 8


@pytest.mark.parametrize("fill", [0, -1])
@pytest.mark.parametrize("lengths", [(10, 20), (10, LARGE), (LARGE, 2 * LARGE, 9 * LARGE)])
def test_an_array_keeps_its_values_as_it_grows(fill: int, lengths: tuple[int, ...]) -> None:
    """What is new has the fill, whether the array is NumPy's or has pages of its own."""
    array = GrowingArray(np.int64, 0, fill)
    written = 0
    for length in lengths:
        array.reserve(length)
        array.values[written:length] = np.arange(written, length)
        written = length
    array.reserve(written + LARGE)
    assert array.values[:written].tolist() == list(range(written))
    assert set(array.values[written:].tolist()) == {fill}


def test_who_still_looks_at_an_array_keeps_what_he_sees() -> None:
    """Pages that somebody looks at cannot move: the values are copied."""
    array = GrowingArray(np.int64, LARGE)
    array.reserve(2 * LARGE)
    array.values[:] = 7
    seen = array.values[5:10]
    array.reserve(4 * LARGE)
    array.values[:10] = 8
    assert seen.tolist() == [7] * 5
    assert array.values[:12].tolist() == [8] * 10 + [7] * 2
    assert len(array.values) == 4 * LARGE


def test_room_is_not_taken_back() -> None:
    """Less than there is changes nothing."""
    array = GrowingArray(np.int64, 10)
    before = array.values
    array.reserve(3)
    assert array.values is before


def test_the_lowest_places_are_given_out_first_and_freed_ones_again() -> None:
    """Those given back come before those that nobody had."""
    places = Places()
    first, capacity = places.take(5)
    assert first.tolist() == [0, 1, 2, 3, 4]
    places.give_back(first[1:3])
    again, same = places.take(3)
    assert again.tolist() == [1, 2, 5]
    assert capacity == same
    assert places.used == 6


def test_a_large_capacity_grows_by_little() -> None:
    """Doubling ten million rows would leave memory for nine million of them empty."""
    places = Places()
    capacity = 0
    while places.used < 10_000_000:
        _, capacity = places.take(50_000)
    assert places.used <= capacity <= 1.15 * places.used


def test_places_after_a_reset_are_those_not_in_use() -> None:
    """As a table that loads a snapshot says it."""
    places = Places()
    _, capacity = places.take(10)
    used = np.zeros(capacity, np.bool_)
    used[[0, 1, 4]] = True
    places.reset(used)
    assert places.used == 3
    taken, more = places.take(capacity)
    assert taken[: capacity - 3].tolist() == [2, 3, *range(5, capacity)]
    assert taken[capacity - 3 :].tolist() == list(range(capacity, capacity + 3))
    assert more > capacity


def test_rows_and_their_nulls_outlive_growth() -> None:
    """Also the places that were freed and taken again."""
    held = HeldRows([AttributeType.LONG], StringPool(), extras=1)
    numbers = np.arange(700, dtype=np.int64)
    first = held.add([Column(AttributeType.LONG, numbers, numbers % 2 == 0)], numbers, [numbers])
    held.places.give_back(first[:100])
    more = np.arange(LARGE, dtype=np.int64)
    second = held.add([Column(AttributeType.LONG, more)], more, [more])
    assert held.column(0, first[100:]).to_pylist() == [
        None if i % 2 == 0 else i for i in range(100, 700)
    ]
    assert held.column(0, second).to_pylist() == more.tolist()
    assert held.extra(0)[second].tolist() == more.tolist()
    assert len(held) == LARGE + 600


def test_a_pool_counts_the_rows_whose_strings_it_keeps() -> None:
    """Of all that share it; places that were given back are no rows."""
    pool = StringPool()
    first, second = HeldRows([AttributeType.LONG], pool), HeldRows([], pool)
    places = first.add([Column(AttributeType.LONG, np.arange(10))], np.arange(10))
    second.add([], np.arange(5))
    assert pool.rows == 15
    first.places.give_back(places[:4])
    assert pool.rows == 11


def test_values_of_held_rows_among_others() -> None:
    """By place where there is no row of the others, and null where there is neither; nulls stay
    where they are, strings are of one pool."""
    held = HeldRows((AttributeType.STRING, AttributeType.LONG), StringPool())
    places = held.add(
        [from_values(AttributeType.STRING, ["a", None]), from_values(AttributeType.LONG, [1, 2])],
        np.array([0, 0]),
    )
    at = np.array([-1, places[1], -1, places[0], -1, -1])
    rows = np.array([0, -1, 2, -1, -1, 1])
    words = from_values(AttributeType.STRING, [None, "x", "b"])
    assert held.mixed(0, at, words, rows).to_pylist() == [None, None, "b", "a", None, "x"]
    numbers = from_values(AttributeType.LONG, [7, 0, None])
    assert held.mixed(1, at, numbers, rows).to_pylist() == [7, 2, None, 1, None, 0]
    nowhere, all_of_it = np.full(3, -1), np.arange(3)
    assert held.mixed(1, nowhere, numbers, all_of_it).to_pylist() == [7, 0, None]
    nothing = from_values(AttributeType.LONG, [])
    assert held.mixed(1, places, nothing, nowhere[:2]).to_pylist() == [1, 2]
