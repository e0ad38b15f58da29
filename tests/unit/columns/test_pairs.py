"""Pairs of events as a selector takes them."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.pairs import PairFlow, Side, beside
from tests.unit.columns.flows import chunks, longs


def pairs() -> PairFlow:
    """Of three events: the second meets nobody, the third two."""
    left, right = chunks([1], [2, 3], at=[10, 20]), chunks([7], [8], [9])
    sides = Side.of_chunks(left, longs(0, 1, 2, 2)), Side.of_chunks(right, longs(2, -1, 0, 1))
    return PairFlow(sides, left, longs(0, 1, 2, 2))


def test_both_slots_with_the_triggers_time() -> None:
    """An empty slot is null, and absent."""
    frame = pairs().frame()
    assert frame.column(0, 0).to_pylist() == [1, 2, 3, 3]
    assert frame.column(1, 0).to_pylist() == [9, None, 7, 8]
    assert frame.times().tolist() == frame.now().tolist() == [10, 20, 20, 20]
    absent = frame.absent(1)
    assert absent is not None
    assert absent.tolist() == [False, True, False, False]
    assert frame.absent(0) is None


def test_some_of_them() -> None:
    """The rest keeps its events, times and what is absent."""
    kept = pairs().keep(np.array([False, True, False, True])).frame()
    assert (kept.column(0, 0).to_pylist(), kept.column(1, 0).to_pylist()) == ([2, 3], [None, 8])
    assert kept.times().tolist() == [20, 20]
    gone = kept.absent(1)
    assert gone is not None
    assert gone.tolist() == [True, False]
    assert len(pairs().keep(np.zeros(4, np.bool_)).frame()) == 0


def test_an_event_beside_an_empty_slot() -> None:
    """Its own slot is there; whoever reads the other one has made a mistake."""
    frame = beside(chunks([4, 5]), 1)
    assert frame.column(1, 0).to_pylist() == [4, 5]
    with pytest.raises(AssertionError):
        frame.column(0, 0)
