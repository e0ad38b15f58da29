"""How often lost messages are told."""

from __future__ import annotations

from structlog.testing import capture_logs

from lockstep.bus.losses import TOLD_EACH_MS, Losses
from lockstep.clock import VirtualClock


async def test_many_losses_are_few_lines_and_none_is_left_out() -> None:
    """The first at once; the rest together, with the first message after a while."""
    clock = VirtualClock()
    with capture_logs() as told:
        losses = Losses(clock)
        for number in range(300):
            losses.lost(f"a.{number}", "the bus is away")
            losses.passed()
        assert [one["count"] for one in told] == [1]
        await clock.advance_ms(TOLD_EACH_MS)
        losses.passed()
        losses.passed()
    assert [one["count"] for one in told] == [1, 299]
    assert told[1]["subject"] == "a.299"
    assert told[1]["error"] == "the bus is away"


async def test_losses_that_go_on_are_told_each_ten_seconds() -> None:
    """Without a message that gets through."""
    clock = VirtualClock()
    with capture_logs() as told:
        losses = Losses(clock)
        for _ in range(21):
            losses.lost("a", "its reader lags")
            await clock.advance_ms(1_000)
    assert [one["count"] for one in told] == [1, 10, 10]
