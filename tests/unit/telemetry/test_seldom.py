"""What goes on and on does not fill the log."""

from __future__ import annotations

from lockstep.telemetry import Seldom
from lockstep.telemetry.seldom import MAX_KEPT, MINUTE_MS


def test_each_thing_is_told_once_a_minute() -> None:
    """The first time at once, and one thing does not hide another."""
    seldom = Seldom()
    found = [seldom.is_due("a", at_ms) for at_ms in (5, 6, 4 + MINUTE_MS, 5 + MINUTE_MS)]
    assert found == [True, False, False, True]
    assert seldom.is_due("b", 6 + MINUTE_MS)


def test_what_is_over_is_told_again_at_once() -> None:
    """And whoever ends it knows whether anybody heard of it."""
    seldom = Seldom(10)
    assert not seldom.over()
    assert seldom.is_due("a", 1)
    assert seldom.over()
    assert seldom.is_due("a", 2)


def test_so_many_things_are_remembered() -> None:
    """What is told no more makes room."""
    seldom = Seldom()
    assert all(seldom.is_due(number, number) for number in range(MAX_KEPT))
    assert not seldom.is_due("more", MAX_KEPT)
    assert len(seldom._told_ms) == MAX_KEPT
    assert seldom.is_due("more", MINUTE_MS)
    assert len(seldom._told_ms) == MAX_KEPT
