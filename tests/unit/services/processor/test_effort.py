"""What a replica says of its own load."""

from __future__ import annotations

from lockstep_services.processor.replica.effort import WINDOW_MS, Effort


def test_events_and_time_of_the_last_windows() -> None:
    """Over what has passed since the window before began."""
    effort = Effort(1_000)
    assert effort.read(1_000) == (0, 0)
    effort.folded(3_000, events=500, busy_ms=1_000)
    assert effort.read(3_000) == (250, 500)
    assert effort.read(5_000, folding_ms=1_000) == (125, 500)


def test_what_was_long_ago_is_forgotten() -> None:
    """A replica that has come to rest has no load, however busy it was."""
    effort = Effort(0)
    effort.folded(WINDOW_MS - 1, events=100_000, busy_ms=WINDOW_MS - 1)
    assert effort.read(WINDOW_MS)[1] == 999
    assert effort.read(WINDOW_MS * 2 - 1)[1] == 499
    assert effort.read(WINDOW_MS * 2) == (0, 0)
    effort.folded(WINDOW_MS * 9, events=1, busy_ms=1)
    assert effort.read(WINDOW_MS * 9) == (0, 0)


def test_a_slice_that_does_not_end_is_all_of_the_time() -> None:
    """Never more than that."""
    assert Effort(0).read(2_000, folding_ms=9_000) == (0, 1_000)
