"""Keys as small numbers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Column, from_values
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import KeySpace, combined, group_names, partition_names, value_names
from lockstep.columns.pool import StringPool
from tests.unit.columns.flows import DOUBLE, INT, STRING, longs


def test_ids_in_order_of_first_appearance() -> None:
    """And theirs until they are forgotten."""
    space = KeySpace()
    assert space.assign(np.array([1, 0, 1]), ["a", "b"]).tolist() == [1, 0, 1]
    assert space.assign(np.array([0, 1]), ["c", "a"]).tolist() == [2, 0]
    assert space.compact(np.array([False, True, True])).tolist() == [-1, 0, 1]
    assert (space.keys, space.find("a"), space.id_of("c")) == (["b", "c"], -1, 1)


def test_names_of_groups() -> None:
    """As the reference spells them: null strings are 'null', floating values their texts."""
    codes, keys = group_names(from_values(STRING, ["a", None, "a"]))
    assert [keys[code] for code in codes] == ["a", "null", "a"]
    codes, keys = group_names(from_values(DOUBLE, [0.5, None, -0.0, 0.0]))
    assert [keys[code] for code in codes] == ["0.5", "None", "-0.0", "0.0"]
    codes, keys = group_names(from_values(INT, [3, None, 3]))
    assert [keys[code] for code in codes] == [3, None, 3]


def test_names_of_values_and_partitions() -> None:
    """`==` compares values, but every NaN is one; partitions compare texts, as Java writes them."""
    codes, keys = value_names(from_values(DOUBLE, [1.0, None]))
    assert [keys[code] for code in codes] == [1.0, None]
    space, nan = KeySpace(), np.array([np.nan, -np.nan])
    for column in (Column(DOUBLE, nan), Column(DOUBLE, nan.copy())):
        assert space.assign(*value_names(column)).tolist() == [0, 0]
    codes, keys = partition_names(from_values(DOUBLE, [1.0, 1e10, None]))
    assert [keys[code] for code in codes] == ["1.0", "1.0E10", None]


def test_combinations() -> None:
    """Tuples, in order of first appearance."""
    names: list[tuple[Any, list[Any]]] = [
        (np.array([0, 1, 0]), ["a", "b"]),
        (np.array([1, 0, 1]), [10, 20]),
    ]
    codes, keys = combined(names)
    assert [keys[code] for code in codes] == [("a", 20), ("b", 10), ("a", 20)]


@pytest.mark.parametrize("sizes", [[300] * 8, [2**31] * 5, [5, 2**20] * 5])
def test_more_combinations_than_a_number_tells_apart(sizes: list[int]) -> None:
    """Each is itself all the same, and they come in order of first appearance."""
    random = Random(7)
    rows = [tuple(random.choice([0, 1, size - 1]) for size in sizes) for _ in range(500)]
    names = [(np.array(c), range(n)) for c, n in zip(zip(*rows, strict=True), sizes, strict=True)]
    codes, keys = combined(names)
    assert [keys[code] for code in codes.tolist()] == rows
    assert keys == list(dict.fromkeys(rows))


def test_held_rows_keep_what_left_readable_until_the_slice_is_over() -> None:
    """A place is given out again only after it was given back."""
    held = HeldRows((STRING, INT), StringPool())
    first = held.add([from_values(STRING, ["a", None]), from_values(INT, [1, 2])], longs(10, 20))
    second = held.add([from_values(STRING, ["b"]), from_values(INT, [None])], longs(30))
    assert not set(first.tolist()) & set(second.tolist())
    everything = np.concatenate([first, second, [-1]])
    assert held.column(0, everything).to_pylist() == ["a", None, "b", None]
    assert held.column(1, everything).to_pylist() == [1, 2, None, None]
    held.places.give_back(first)
    assert len(held) == 1
    again = held.add([from_values(STRING, ["c"]), from_values(INT, [4])], longs(40))
    assert again[0] in first
    assert held.column(1, again).to_pylist() == [4]


def test_a_pool_forgets_strings_that_nobody_uses() -> None:
    """Codes move; what is kept reads the same."""
    pool = StringPool()
    kept = pool.adopt(from_values(STRING, ["a", "b", "c"])).values  # type: ignore[arg-type]
    kept = kept[1:].copy()
    moved = pool.collect([kept])
    kept[:] = moved[kept]
    assert [pool.words.texts[code] for code in kept] == ["b", "c"]
    assert len(pool.words) == 3
