"""Batches of about a given time, for every speed of the destination."""

from __future__ import annotations

import math

import pytest

from lockstep_services.publisher.pacing import FIRST_ROWS, Pace

TARGET_MS = 1_000
LIMIT = 5_000


def delivered(
    pace: Pace, *, latency_ms: float, at_once: int, batches: int
) -> list[tuple[int, int]]:
    """(rows, ms) of full batches to a destination that answers each row after `latency_ms`."""
    found = []
    for _ in range(batches):
        rows = pace.rows
        took_ms = round(math.ceil(rows / at_once) * latency_ms)
        pace.took(took_ms, rows)
        found.append((rows, took_ms))
    return found


@pytest.mark.parametrize("at_once", [1, 16])
@pytest.mark.parametrize("latency_ms", [0.01, 0.5, 3, 20, 150, 900, 5_000])
def test_full_batches_come_to_take_the_target(latency_ms: float, at_once: int) -> None:
    """Or as many rows as may be, where even those take less, or as few, where these take more."""
    pace = Pace(limit_rows=LIMIT, target_ms=TARGET_MS, least_rows=at_once)
    *_, (rows, took_ms) = delivered(pace, latency_ms=latency_ms, at_once=at_once, batches=20)
    assert at_once <= rows <= LIMIT
    if rows not in (at_once, LIMIT):
        assert TARGET_MS / 2 <= took_ms <= TARGET_MS + latency_ms
    if rows == at_once:
        assert 2 * latency_ms > TARGET_MS
    if rows == LIMIT:
        assert took_ms <= TARGET_MS


def test_the_first_batch_is_small() -> None:
    """Nothing is known of the destination yet."""
    assert Pace(limit_rows=LIMIT, target_ms=TARGET_MS, least_rows=1).rows == FIRST_ROWS
    assert Pace(limit_rows=8, target_ms=TARGET_MS, least_rows=16).rows == 8


def test_who_gets_few_rows_is_not_thought_slow() -> None:
    """A single row may take as long as a hundred."""
    pace = Pace(limit_rows=LIMIT, target_ms=TARGET_MS, least_rows=1)
    delivered(pace, latency_ms=0.01, at_once=1, batches=20)
    for _ in range(10):
        pace.took(40, 1)
    assert pace.rows == LIMIT


def test_who_was_away_gets_full_batches_again() -> None:
    """A batch that was tried for minutes counts as slow, until the next ones are not."""
    pace = Pace(limit_rows=LIMIT, target_ms=TARGET_MS, least_rows=1)
    delivered(pace, latency_ms=0.01, at_once=1, batches=20)
    pace.took(120_000, LIMIT)
    assert pace.rows < 100
    delivered(pace, latency_ms=0.01, at_once=1, batches=20)
    assert pace.rows == LIMIT


def test_where_rows_arrive_once_batches_are_full() -> None:
    """Nothing is gained by small ones."""
    pace = Pace(limit_rows=LIMIT, target_ms=TARGET_MS, least_rows=LIMIT)
    pace.took(60_000, LIMIT)
    assert pace.rows == LIMIT
