"""How a run ends: by the judge's counts first, then by the bars for how long a change takes."""

from __future__ import annotations

from enum import Enum

from tests.chaos.judge import Verdict
from tests.chaos.story import Story, quantile

FAILOVER_BAR_MS = 2_000
HANDOVER_BAR_MS = 300


class Ending(Enum):
    """The word in the last line; all but the first are failures."""

    OK = "ok"
    MISSED = "missed"
    FAILED = "FAILED"


def missed_bars(story: Story) -> list[str]:
    """A line for each bar that was missed; what was not measured misses none."""
    figures = (
        ("unit's failover p99", quantile(story.unit_failovers_ms, 0.99), FAILOVER_BAR_MS),
        ("failover p99", quantile(story.failovers_ms, 0.99), FAILOVER_BAR_MS),
        ("handover max", max(story.handovers_ms, default=0), HANDOVER_BAR_MS),
    )
    return [f"{what} {ms} ms is over its bar of {bar} ms" for what, ms, bar in figures if ms > bar]


def ending_of(verdict: Verdict, story: Story, missed: list[str], *, lenient: bool) -> Ending:
    """FAILED where something is wrong or nothing was done, MISSED where it took too long."""
    if not verdict.ok or not story.happened:
        return Ending.FAILED
    return Ending.MISSED if missed and not lenient else Ending.OK


def last_line(ending: Ending, story: Story, verdict: Verdict) -> str:
    """What scripts look for."""
    wrong = ""
    if ending is Ending.FAILED:
        wrong = f" wrong={verdict.wrong} usurped={verdict.usurped} misplaced={verdict.misplaced}"
    return (
        f"chaos: {ending.value} faults={len(story.happened)} sent={verdict.sent} "
        f"lost={verdict.lost} duplicated={verdict.duplicated} "
        f"archived_twice={verdict.archived_twice} archive_missing={verdict.archive_missing}{wrong} "
        f"failover_ms p50={quantile(story.failovers_ms, 0.5)} "
        f"p99={quantile(story.failovers_ms, 0.99)}"
    )
