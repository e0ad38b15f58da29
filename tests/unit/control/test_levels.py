"""How much an app's metrics tell: its text, and what somebody put beside it."""

from __future__ import annotations

import pytest

from lockstep.control.catalogue import level_of
from lockstep.plan import plan_of
from lockstep.telemetry import Level

REST = "define stream S (a int); from S select a insert into T;"


@pytest.mark.parametrize(
    ("annotation", "level"),
    [
        ("", Level.BASIC),
        ("@app:statistics('true')", Level.BASIC),
        ("@app:statistics(reporter='console', interval='5', include='*.*')", Level.BASIC),
        ("@app:statistics('DETAIL')", Level.DETAIL),
        ("@app:statistics(level='detail')", Level.DETAIL),
        ("@app:statistics(enable='false')", Level.OFF),
        ("@app:statistics('OFF')", Level.OFF),
    ],
)
def test_the_text_says_it(annotation: str, level: Level) -> None:
    """In all the forms that the older products have."""
    assert level_of(plan_of(f"@app:name('A') {annotation} {REST}"), {}) is level


def test_what_was_put_wins() -> None:
    """Of this app alone."""
    plan = plan_of(f"@app:name('A') @app:statistics('DETAIL') {REST}")
    assert level_of(plan, {"A": "OFF"}) is Level.OFF
    assert level_of(plan, {"B": "OFF"}) is Level.DETAIL
