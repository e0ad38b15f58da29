"""Revisions of many apps are spread; those of few come when they are due."""

from __future__ import annotations

from lockstep_services.processor.revise.pacing import APART_MAX_MS, BUSY_SHARE, RevisionPace


def test_a_single_app_never_waits() -> None:
    """Its next revision is further away than the pace of short ones."""
    pace = RevisionPace()
    for turn in range(20):
        assert pace.wait_ms(30_000 * turn) == 0
        pace.took(200)


def test_many_at_a_time_take_turns() -> None:
    """In the order of asking, and together for a part of the time only."""
    pace = RevisionPace()
    for _ in range(100):
        pace.took(20)
    waits = [pace.wait_ms(0) for _ in range(1_000)]
    assert waits == sorted(waits)
    assert 1_000 * 20 * BUSY_SHARE * 0.98 <= waits[-1] <= 1_000 * 20 * BUSY_SHARE


def test_a_long_revision_keeps_nobody_waiting_for_long() -> None:
    """A large state takes its time beside the small ones."""
    pace = RevisionPace()
    for _ in range(50):
        pace.took(60_000)
    pace.wait_ms(0)
    assert pace.wait_ms(0) == APART_MAX_MS
