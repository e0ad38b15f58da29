"""Where listeners go on, by the id of the last event that they have seen."""

from __future__ import annotations

import pytest

from lockstep.events import OutputId
from lockstep.frame import Problem
from lockstep_services.presenter.resuming import BEGINNING, ResumePoint, event_id, resume_point

NOW_MS = 1_800_000_000_000


def test_an_id_leads_back_to_its_row() -> None:
    """As it is given out, and as other routes give identities out; nothing: with what comes."""
    row = OutputId(12, 3)
    assert event_id(row, NOW_MS) == f"{NOW_MS}.12.3"
    assert resume_point(event_id(row, NOW_MS), NOW_MS) == ResumePoint(row)
    assert resume_point("12.3", NOW_MS) == ResumePoint(row)
    assert resume_point(event_id(row, 0), 0) == ResumePoint(row)
    assert resume_point(None, NOW_MS) == resume_point("", NOW_MS) == ResumePoint(None)


def test_an_id_of_logs_that_are_gone_leads_to_the_beginning() -> None:
    """Its positions are no places in the logs that there are now."""
    assert resume_point(f"{NOW_MS - 1}.12.3", NOW_MS) == ResumePoint(BEGINNING, is_anew=True)


@pytest.mark.parametrize("given", ["x", "1", "1.", "x.1.2", "1.2.3.4", f"{NOW_MS}.a.1", "-1.2.3"])
def test_what_is_no_id_is_refused(given: str) -> None:
    """With a word about what one looks like."""
    with pytest.raises(Problem, match="identity"):
        resume_point(given, NOW_MS)
