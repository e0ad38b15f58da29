"""How long leases live where processes wake late."""

from __future__ import annotations

from lockstep.leader.lateness import LeaseLife


def test_a_process_that_wakes_in_time_asks_for_the_shortest_life() -> None:
    """A few milliseconds are usual."""
    life = LeaseLife(1_000, 8_000)
    for now_ms in range(0, 60_000, 25):
        life.woke(now_ms, 20)
    assert life.ttl_ms == 1_000


def test_the_second_longest_hold_up_counts_four_times() -> None:
    """One alone does not."""
    life = LeaseLife(1_000, 8_000)
    life.woke(0, 700)
    assert life.ttl_ms == 1_000
    life.woke(100, 500)
    assert life.ttl_ms == 2_000
    life.woke(200, 600)
    assert life.ttl_ms == 2_400


def test_no_life_is_longer_than_the_longest() -> None:
    """However late the process is; and none is shorter than the shortest that was asked for."""
    life, narrow = LeaseLife(1_000, 8_000), LeaseLife(9_000, 8_000)
    for one in (life, narrow):
        one.woke(0, 60_000)
        one.woke(1, 60_000)
    assert (life.ttl_ms, narrow.ttl_ms) == (8_000, 9_000)


def test_hold_ups_are_forgotten_after_three_quarters_of_a_minute() -> None:
    """And not within half a minute."""
    life = LeaseLife(1_000, 8_000)
    life.woke(0, 1_000)
    life.woke(0, 1_000)
    for now_ms in range(25, 30_000, 25):
        life.woke(now_ms, 0)
    assert life.ttl_ms == 4_000
    for now_ms in range(30_000, 45_001, 25):
        life.woke(now_ms, 0)
    assert life.ttl_ms == 1_000


def test_it_is_told_when_lives_become_long_and_when_they_are_short_again() -> None:
    """Once each; small steps are not told."""
    life = LeaseLife(1_000, 8_000)
    assert life.is_late() is None
    for late_ms in (300, 300):
        life.woke(0, late_ms)
    assert life.is_late() is None
    for late_ms in (600, 600):
        life.woke(1, late_ms)
    assert life.is_late() is True
    assert life.is_late() is None
    life.woke(60_000, 0)
    assert life.is_late() is False
    assert life.is_late() is None
