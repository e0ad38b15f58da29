"""Deliveries of many records: events and moves of the clock as one, in their order."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from lockstep.events.bundles import STAYS
from lockstep.execute import turns_kernel as kernel
from lockstep.execute.turns import load, merged, settled, walked
from tests.unit.columns.flows import longs


def test_events_and_moves_become_one() -> None:
    """A move and an event at one place are one delivery."""
    found = merged(longs(1, 3, 4), longs(0, 3, 6), longs(10, 10, 20, 30, 30, 40, 50))
    assert found.places.tolist() == [0, 1, 3, 4, 6]
    assert found.clocks.tolist() == [10, STAYS, 30, STAYS, 50]
    assert found.at.tolist() == [1, 2, 3]


def test_the_clock_may_follow_each_of_them() -> None:
    """It is said where it is ahead of what it was."""
    clocks = longs(10, 10, 20, 30, 30, 40, 50)
    found = merged(longs(1, 3, 4), longs(5), clocks, follows_ms=10)
    assert found.places.tolist() == [1, 3, 4, 5]
    assert found.clocks.tolist() == [STAYS, 30, STAYS, 40]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_sorting_gives(seed: int) -> None:
    """Whatever is there."""
    random = Random(seed)
    own, moving = (longs(*sorted(random.sample(range(30), random.randint(0, 9)))) for _ in "ab")
    clocks = np.sort(np.array(random.choices(range(9), k=30), np.int64))
    found = merged(own, moving, clocks)
    assert found.places.tolist() == sorted({*own.tolist(), *moving.tolist()})
    assert found.places[found.at].tolist() == own.tolist()
    is_move = np.isin(found.places, moving)
    assert (found.clocks == np.where(is_move, clocks[found.places], STAYS)).all()


def test_a_move_goes_with_the_own_event_behind_it() -> None:
    """And stays by itself in front of what others brought. Sources: moves, own events, rows."""
    moments = longs(0, 2, 4, 1, 5, 3)
    order = np.argsort(moments, kind="stable")
    is_own = np.array([False, True, False])
    found = settled(order, moments, longs(3, 2, 1), is_own, longs(10, 20, 30))
    assert found.moments.tolist() == [1, 2, 3, 5]
    assert found.sources.tolist() == [1, 0, 2, 1]
    assert found.numbers.tolist() == [0, 1, 0, 1]
    assert found.clocks.tolist() == [10, 20, STAYS, 30]


def test_where_it_follows_each_says_the_clock() -> None:
    """If it is ahead."""
    moments = longs(4, 1, 5, 3)
    order = np.argsort(moments, kind="stable")
    is_own = np.array([False, True, False])
    found = settled(order, moments, longs(1, 2, 1), is_own, longs(10, 20, 20), 10)
    assert found.moments.tolist() == [1, 3, 4, 5]
    assert found.clocks.tolist() == [STAYS, 20, STAYS, STAYS]


def test_the_clock_walks_on() -> None:
    """Two records of two and of one delivery; it never goes back."""
    found = walked(longs(2, 1), longs(0, 6), longs(STAYS, 50, 40), 45)
    assert found.moments.tolist() == [2, 4, 8]
    assert found.now.tolist() == [45, 50, 50]
    assert found.move_moments.tolist() == [4, 8]
    assert found.move_clocks.tolist() == [50, 50]


def test_what_is_compiled_can_be_loaded_before() -> None:
    """So that no event waits for it."""
    load()
    assert all(each.signatures for each in (kernel.merge, kernel.settle, kernel.walk))
