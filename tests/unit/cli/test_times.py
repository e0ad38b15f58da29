"""Times on the command line."""

import pytest

from lockstep.cli.times import TimeError, parsed_ms


def test_times_have_a_zone() -> None:
    """Their own, or UTC; anything else is refused with an example."""
    assert parsed_ms("1970-01-01T00:00:01.5") == 1_500
    assert parsed_ms("1970-01-01T01:00:00+01:00") == 0
    assert parsed_ms("1970-01-02") == 86_400_000
    with pytest.raises(TimeError, match="no time"):
        parsed_ms("yesterday")
