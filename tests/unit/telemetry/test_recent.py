"""What passed lately, and how late it was."""

from __future__ import annotations

from lockstep.telemetry import Reading, Recent
from lockstep.telemetry.recent import WINDOW_MS


def test_how_much_in_a_second() -> None:
    """Over what has passed since the window before began; less than one in a second counts."""
    recent = Recent(1_000)
    assert recent.read(1_000) == Reading()
    recent.passed(3_000, 500)
    assert recent.read(3_000).per_s == 250.0
    assert recent.read(5_000).per_s == 125.0
    few = Recent(0)
    few.passed(2_000, 1)
    assert few.read(4_000).per_s == 0.2


def test_a_first_batch_is_no_storm() -> None:
    """Right after the beginning the span is a second all the same."""
    recent = Recent(0)
    recent.passed(1, 40)
    assert recent.read(2).per_s == 40.0


def test_times_are_of_rows_not_of_batches() -> None:
    """One late batch of one row is the hundredth part of a hundred, and no more."""
    recent = Recent(0)
    recent.passed(10, 60, 5)
    recent.passed(20, 39, 30)
    recent.passed(30, 1, 900)
    found = recent.read(1_000)
    assert (found.p50_ms, found.p99_ms) == (5, 30)
    recent.passed(40, 10, 900)
    assert 872 <= recent.read(1_000).p99_ms <= 900


def test_who_does_not_know_how_late_says_nothing_of_it() -> None:
    """Rows of timers count, but come from no event. No time is negative."""
    recent = Recent(0)
    recent.passed(10, 100)
    assert (recent.read(1_000).p50_ms, recent.read(1_000).per_s) == (0, 100.0)
    recent.passed(10, 1, 7)
    recent.passed(10, 1, -4)
    assert (recent.read(1_000).p50_ms, recent.read(1_000).p99_ms) == (0, 7)


def test_what_was_long_ago_is_forgotten() -> None:
    """Two windows later nothing is left, whether something was read meanwhile or not."""
    recent = Recent(0)
    recent.passed(WINDOW_MS - 1, 1_000, 50)
    assert recent.read(WINDOW_MS).p50_ms == 50
    assert recent.read(WINDOW_MS * 2) == Reading()
    recent.passed(WINDOW_MS * 3, 1_000, 50)
    assert recent.read(WINDOW_MS * 9) == Reading()


def test_times_are_told_within_a_thirty_second_part() -> None:
    """Never too high."""
    for took_ms in (0, 1, 63, 64, 100, 1_001, 86_400_000):
        recent = Recent(0)
        recent.passed(0, 1, took_ms)
        assert took_ms * 31 / 32 <= recent.read(0).p50_ms <= took_ms
