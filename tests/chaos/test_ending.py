"""A run that is right and too slow is not well."""

from __future__ import annotations

import pytest

from tests.chaos.ending import (
    FAILOVER_BAR_MS,
    HANDOVER_BAR_MS,
    Ending,
    ending_of,
    last_line,
    missed_bars,
)
from tests.chaos.judge import Verdict
from tests.chaos.story import Happened, Story


def told(*, failovers_ms: list[int], handovers_ms: list[int]) -> Story:
    """A story of one fault."""
    story = Story(began_ms=0, failovers_ms=failovers_ms, handovers_ms=handovers_ms)
    story.happened.append(Happened("cut", 1, 1))
    return story


@pytest.mark.parametrize(
    ("failovers_ms", "handovers_ms", "named"),
    [
        ([FAILOVER_BAR_MS], [HANDOVER_BAR_MS], []),
        ([], [], []),
        ([900, FAILOVER_BAR_MS + 1], [], ["failover"]),
        ([900], [20, HANDOVER_BAR_MS + 1], ["handover"]),
        ([FAILOVER_BAR_MS + 1], [HANDOVER_BAR_MS + 1], ["failover", "handover"]),
    ],
)
def test_a_missed_bar_fails_the_run_and_is_named(
    failovers_ms: list[int], handovers_ms: list[int], named: list[str]
) -> None:
    """Unless that is asked to be forgiven."""
    story = told(failovers_ms=failovers_ms, handovers_ms=handovers_ms)
    missed = missed_bars(story)
    assert [line.partition(" ")[0] for line in missed] == named
    ending = Ending.MISSED if named else Ending.OK
    assert ending_of(Verdict(), story, missed, lenient=False) is ending
    assert ending_of(Verdict(), story, missed, lenient=True) is Ending.OK


def test_nothing_forgives_what_is_wrong() -> None:
    """Lost events, and a run in which nothing happened, fail under every condition."""
    lost = Verdict(sent=5, lost=1)
    story = told(failovers_ms=[1], handovers_ms=[])
    assert ending_of(lost, story, [], lenient=True) is Ending.FAILED
    assert ending_of(Verdict(), Story(), [], lenient=True) is Ending.FAILED
    assert last_line(Ending.FAILED, story, lost) == (
        "chaos: FAILED faults=1 sent=5 lost=1 duplicated=0 archived_twice=0 "
        "archive_missing=0 wrong=0 usurped=0 misplaced=0 failover_ms p50=1 p99=1"
    )


def test_the_last_line_of_a_good_run() -> None:
    """As scripts expect it."""
    story = told(failovers_ms=[1, 2, 3], handovers_ms=[4])
    assert last_line(Ending.OK, story, Verdict(sent=9)) == (
        "chaos: ok faults=1 sent=9 lost=0 duplicated=0 archived_twice=0 archive_missing=0 "
        "failover_ms p50=2 p99=3"
    )
