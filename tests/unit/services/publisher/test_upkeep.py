"""Tables of the archive are looked after one by one, and leave the cores to others in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lockstep.archive.keeping import Upkeep
from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.offload import InlineOffload
from lockstep_services.publisher.archive.upkeep import APART_MAX_MS, in_turn


class Held:
    """Notes for how long it was asked; lost at the given pause."""

    def __init__(self, lost_at: int = 0) -> None:
        self.pauses_ms: list[int] = []
        self._lost_at = lost_at

    async def wait_lost(self, limit_ms: int) -> bool:
        self.pauses_ms.append(limit_ms)
        return len(self.pauses_ms) == self._lost_at


def tables(clock: VirtualClock, *took_ms: int) -> Iterator[Upkeep]:
    """Each takes its time, and has one file less."""
    for each in took_ms:
        clock.set_ms(clock.now_ms() + each)
        yield Upkeep(compacted=1)


async def test_a_pause_is_nine_times_as_long_as_what_was_before_it() -> None:
    """So upkeep has a tenth of the time; a slow table holds the others up for some seconds."""
    clock, held = VirtualClock(), Held()
    done = await in_turn(tables(clock, 100, 0, 30, 2_000), InlineOffload(), clock, held)
    assert done == Upkeep(compacted=4)
    assert held.pauses_ms == [900, 0, 270, APART_MAX_MS]


async def test_who_loses_the_lease_touches_no_further_table() -> None:
    """Another publisher looks after the rest."""
    clock, held = VirtualClock(), Held(lost_at=2)
    left = tables(clock, 1, 1, 1)
    assert await in_turn(left, InlineOffload(), clock, held) is None
    assert len(list(left)) == 1


async def test_a_table_that_is_away_is_told() -> None:
    """The caller tries again later."""

    def broken() -> Iterator[Upkeep]:
        yield Upkeep()
        raise UnavailableError("away")

    with pytest.raises(UnavailableError, match="away"):
        await in_turn(broken(), InlineOffload(), VirtualClock(), Held())
