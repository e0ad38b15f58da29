"""What `restore --to` asks, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.cli.commands.going_back import WantedBack, ended_said, found_said
from lockstep.cli.commands.past import PastOutput
from lockstep.cli.times import TimeError
from tests.unit.cli.conftest import Lockstep

TIME = "2026-03-01T09:59"
THEN = WantedBack(TIME, replay=False, output=PastOutput.ARCHIVE)
AGAIN = WantedBack(TIME, replay=True, output=PastOutput.SINKS)


def answer(**more: Any) -> dict[str, Any]:
    """As a coordinator answers."""
    there = {"app": "Hot", "revision": "r", "after": 4, "position": 9, "begins_ms": None}
    return {**there, "done": False, "folds": True, **more}


def test_the_time_is_asked_in_milliseconds_and_rows_only_matter_to_a_replay() -> None:
    """What is no time is the caller's mistake."""
    assert THEN.body() == {"to_ms": 1_772_359_140_000}
    assert AGAIN.body() == {"to_ms": 1_772_359_140_000, "replay": True, "output": "sinks"}
    with pytest.raises(TimeError):
        WantedBack("ten", replay=False, output=PastOutput.ARCHIVE).body()


def test_it_says_which_state_it_is_and_what_becomes_of_what_came_later() -> None:
    """From a revision, and from an archive."""
    said = found_said(answer(), THEN)
    assert "position 9 of Hot" in said
    assert "revision r, and what came in behind position 4. What came in later is left out" in said
    said = found_said(answer(revision="", after=0, begins_ms=0), AGAIN)
    assert "the archive, which begins 1970-01-01T00:00:00Z" in said
    assert "folded again; the rows of that go to its sinks" in said


def test_it_says_how_it_ended() -> None:
    """Rows only where there are some."""
    past = {"events": 5, "missing": 0, "rows": 0, "results": ""}
    assert (
        ended_said(answer(), past, THEN) == f"Hot goes on with its state of {TIME}: 5 events folded"
    )
    past |= {"missing": 2, "rows": 3, "results": "/past/x"}
    assert ended_said(answer(), past, AGAIN).endswith(
        "5 events folded, 2 not in the archive any more, 3 rows in /past/x"
    )
    assert ended_said(answer(folds=False), None, THEN).startswith("Hot will go on")
    assert ended_said(answer(folds=False, done=True), None, THEN).startswith("Hot goes on")


@pytest.mark.parametrize("wrong", [["r", "--to", TIME], ["--replay"]])
def test_wishes_that_exclude_one_another_are_refused(lockstep: Lockstep, wrong: list[str]) -> None:
    """Before anybody is asked."""
    done = lockstep("restore", "Hot", *wrong)
    assert done.exit_code == 2
