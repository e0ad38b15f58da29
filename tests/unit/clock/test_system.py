"""The machine's clock and both sources of randomness."""

from __future__ import annotations

import uuid

from lockstep.clock import Clock, Randomness, SeededRandomness, SystemClock, SystemRandomness


async def test_system_clock_sleeps_at_least_as_long() -> None:
    """A sleep is not shorter than asked for, and the monotonic reading shows it."""
    clock = SystemClock()
    assert isinstance(clock, Clock)
    before_ms = clock.monotonic_ms()
    await clock.sleep_ms(5)
    assert clock.monotonic_ms() - before_ms >= 4  # whole milliseconds: one may be cut off


def test_now_is_after_this_was_written() -> None:
    """The time of day counts milliseconds since 1970."""
    assert SystemClock().now_ms() > 1_700_000_000_000


def test_seeded_randomness_repeats() -> None:
    """The same seed gives the same values, another seed others."""

    def draw(seed: int) -> tuple[str, float, str]:
        source = SeededRandomness(seed)
        return source.uuid_hex(), source.fraction(), source.secret()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_both_give_the_promised_shapes() -> None:
    """UUIDs are version 4, fractions below one, secrets 43 characters."""
    for source in (SystemRandomness(), SeededRandomness(7)):
        assert isinstance(source, Randomness)
        assert uuid.UUID(source.uuid_hex()).version == 4
        assert 0.0 <= source.fraction() < 1.0
        assert len(source.secret()) == 43
