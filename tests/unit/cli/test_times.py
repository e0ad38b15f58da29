"""Times on the command line."""

import pytest

from lockstep.cli.times import TimeError, parsed_ms, shown_exactly, shown_ms


def test_times_have_a_zone() -> None:
    """Their own, or UTC; anything else is refused with an example."""
    assert parsed_ms("1970-01-01T00:00:01.5") == 1_500
    assert parsed_ms("1970-01-01T01:00:00+01:00") == 0
    assert parsed_ms("1970-01-02") == 86_400_000
    with pytest.raises(TimeError, match="no time"):
        parsed_ms("yesterday")


def test_times_are_shown_as_they_may_be_typed() -> None:
    """To the second, with their zone."""
    assert shown_ms(1_795_293_901_604) == "2026-11-21T20:45:01Z"
    assert shown_ms(parsed_ms("2026-03-01T14:05:00+01:00")) == "2026-03-01T13:05:00Z"
    assert shown_ms(None) == ""
    assert shown_exactly(1_795_293_901_604) == "2026-11-21T20:45:01.604Z"
    assert shown_exactly(0) == "1970-01-01T00:00:00.000Z"
