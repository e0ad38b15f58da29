"""Units that were moved to level loads rest."""

from __future__ import annotations

from lockstep_services.coordinator.resting import LONGEST_RESTS, Resting

REST_MS = 1_000


def test_a_unit_rests_after_its_move_and_no_other_does() -> None:
    """For the time that is set."""
    resting = Resting(REST_MS)
    resting.note(["x"], 5_000)
    assert resting.at(5_999) == {"x"}
    assert resting.at(6_000) == set()


def test_each_further_move_doubles_the_rest_up_to_a_limit() -> None:
    """So what goes to and fro comes to rest."""
    resting, now_ms = Resting(REST_MS), 0
    rests = []
    for _ in range(7):
        resting.note(["x"], now_ms)
        began_ms = now_ms
        while resting.at(now_ms):
            now_ms += REST_MS
        rests.append((now_ms - began_ms) // REST_MS)
    assert rests == [1, 2, 4, 8, 16, 16, 16]
    assert rests[-1] == LONGEST_RESTS


def test_who_stayed_for_long_begins_anew() -> None:
    """A busy day is forgotten."""
    resting = Resting(REST_MS)
    resting.note(["x"], 0)
    resting.note(["x"], 0)
    later_ms = 2 * LONGEST_RESTS * REST_MS
    assert resting.at(later_ms) == set()
    resting.note(["x"], later_ms)
    assert resting.at(later_ms + REST_MS) == set()


def test_a_rest_ends_when_a_processor_joins() -> None:
    """What swung between the others says nothing about it. One that goes, or stays, ends none."""
    resting = Resting(REST_MS)
    resting.see(["a", "b"], 0)
    resting.note(["x"], 100)
    resting.see(["a"], 200)
    assert resting.at(200) == {"x"}
    resting.see(["a", "c"], 300)
    assert resting.at(300) == set()
    resting.note(["x"], 300)
    resting.see(["a", "c"], 400)
    assert resting.at(400) == {"x"}


def test_moves_before_a_join_count_for_rests_behind_it() -> None:
    """So processors that come and go again and again do not keep a unit on its way."""
    resting = Resting(REST_MS)
    resting.see(["a", "b"], 0)
    resting.note(["x"], 0)
    resting.see(["a", "b", "c"], 10)
    resting.note(["x"], 10)
    assert resting.at(10 + REST_MS) == {"x"}
    assert resting.at(10 + 2 * REST_MS) == set()


def test_who_looks_for_the_first_time_sees_no_join() -> None:
    """Those that are there have been there."""
    resting = Resting(REST_MS)
    resting.note(["x"], 100)
    resting.see(["a", "b"], 200)
    assert resting.at(200) == {"x"}
