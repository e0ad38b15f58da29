"""The page of scripts: what a row says of a script and of a run."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.batch.model import State
from lockstep_services.console.pages.scripts import KINDS, RUNS, SCRIPTS, run_row, script_row

RUN: dict[str, Any] = {
    "due_ms": 1_772_344_800_000, "state": "failed", "version": 2, "rows": None, "attempts": 4,
    "begun_ms": 1_772_344_801_000, "ended_ms": 1_772_344_831_000, "by_hand": False,
    "error": "no such view", "log": [],
}  # fmt: skip
SCRIPT: dict[str, Any] = {
    "script": "a/b", "cron": "0 0 6 * * ? UTC", "output": "sink rdbms", "version": 2,
    "paused": False, "next_ms": 1_772_431_200_000, "last": RUN,
}  # fmt: skip


def test_a_script_with_its_last_run() -> None:
    """The name leads to its page, and the error is told where it is seen first."""
    row = dict(zip(SCRIPTS, script_row(SCRIPT), strict=True))
    assert (row["Script"].link, row["State"].chip) == ("/scripts/a%2Fb", "bad")
    assert (row["Error"].content, row["Rows"].content) == ("no such view", "–")
    assert row["Next due (UTC)"].content == "2026-03-02 06:00:00"


@pytest.mark.parametrize(
    ("more", "state", "due"),
    [
        ({"paused": True, "next_ms": None}, "paused", "–"),
        ({"last": None}, "never ran", "2026-03-02 06:00:00"),
        ({"cron": None, "next_ms": None}, "failed", "by hand"),
    ],
)
def test_a_script_that_rests(more: dict[str, Any], state: str, due: str) -> None:
    """Paused, never run, or started by people alone."""
    row = dict(zip(SCRIPTS, script_row({**SCRIPT, **more}), strict=True))
    assert (row["State"].content, row["Next due (UTC)"].content) == (state, due)


def test_a_run_as_a_row() -> None:
    """How long it took is told when it has ended."""
    row = dict(zip(RUNS, run_row(RUN), strict=True))
    assert (row["Took"].content, row["By"].content) == ("30 s", "cron")
    waits = {**RUN, "state": "due", "begun_ms": None, "ended_ms": None, "by_hand": True}
    row = dict(zip(RUNS, run_row(waits), strict=True))
    assert (row["Took"].content, row["Ended (UTC)"].content, row["By"].content) == (
        "–",
        "–",
        "hand",
    )


def test_every_state_has_its_colour() -> None:
    """As the suite knows them."""
    assert set(KINDS) == {str(one) for one in State}
