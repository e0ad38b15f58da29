"""The table of sources and sinks: what a row says, and which button it has."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.control import ConnectorState
from lockstep_services.console.connectors import COLUMNS, KINDS, connector_row, consequences

LINE: dict[str, Any] = {
    "element": "sink:Out.0.http", "kind": "sink", "stream": "Out", "type": "http",
    "state": "retrying", "since_ms": 1_772_344_800_000, "reason": "away", "last_error": "away",
    "last_error_ms": 1_772_344_801_000, "per_s": 0.0, "pause": None, "can_pause": True,
    "nodes": ["publisher"],
}  # fmt: skip
PAUSE = {"who": "ann", "why": "", "since_ms": 1}


@pytest.mark.parametrize(
    ("more", "denied", "press", "why_not"),
    [
        ({}, "", "pause sink:Out.0.http", ""),
        ({"pause": PAUSE, "state": "paused"}, "", "resume sink:Out.0.http", ""),
        ({}, "no right", "pause sink:Out.0.http", "no right"),
        ({"can_pause": False}, "", "pause sink:Out.0.http", "pause the sink that calls"),
    ],
)
def test_its_button(more: dict[str, Any], denied: str, press: str, why_not: str) -> None:
    """It is grey for who may not, and says why."""
    row = connector_row({**LINE, **more}, denied)
    assert (row[-1].press, row[-1].denied) == (press, why_not)


def test_an_error_is_told_once_and_after_it_is_over() -> None:
    """Beside the reason only where that does not say it."""
    row = dict(zip(COLUMNS, connector_row(LINE, ""), strict=True))
    assert (row["Why"].content, row["Last error"].content) == ("away", "–")
    over = {**LINE, "state": "running", "reason": ""}
    row = dict(zip(COLUMNS, connector_row(over, ""), strict=True))
    assert (row["Why"].content, row["Last error"].content) == ("–", "2026-03-01 06:00:01 away")
    assert row["State"].chip == "good"


def test_every_state_has_its_colour_and_each_kind_its_consequences() -> None:
    """As the suite knows them."""
    assert set(KINDS) == {str(one) for one in ConnectorState}
    assert consequences("sink:Out.0.http") != consequences("source:In.0.http")
