"""Shares of keys."""

from __future__ import annotations

import numpy as np

from lockstep.columns.keys import KeySpace
from lockstep.columns.shards import Shard


def test_owners_stay_the_same() -> None:
    """In every process and every release: state lies where its owner wrote it."""
    keys = ["a", "b", "", "ä", "key 17", 42]
    assert [next(i for i in range(5) if Shard(i, 5).owns(key)) for key in keys] == [
        *(2, 1, 0, 0, 4, 3)
    ]


def test_a_shard_that_owns_nothing_makes_no_ids() -> None:
    """Nor does one that got no rows."""
    space = KeySpace()
    foreign = next(Shard(i, 9) for i in range(9) if not Shard(i, 9).owns("a"))
    assert foreign.assign(space, np.array([0, 0]), ["a"]).tolist() == [-1, -1]
    assert foreign.assign(space, np.zeros(0, np.int64), []).tolist() == []
    assert space.keys == []
