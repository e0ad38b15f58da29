"""Durations inside annotation strings."""

from __future__ import annotations

import pytest

from lockstep.plan.durations import duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("10 sec", 10_000),
        ("1 hour 30 min", 5_400_000),
        ("2h", 7_200_000),
        ("250", 250),
        ("100 millisec", 100),
        ("1 Day", 86_400_000),
    ],
)
def test_readable(text: str, milliseconds: int) -> None:
    """Numbers with units, one after another; a bare number is milliseconds."""
    assert milliseconds == duration_ms(text)


@pytest.mark.parametrize("text", ["", "soon", "10 parsecs", "sec 10"])
def test_unreadable(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="duration"):
        duration_ms(text)
