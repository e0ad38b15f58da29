"""What lives on is looked through once, and cycles in it go all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from lockstep.clock import VirtualClock
from lockstep.frame.garbage import THOROUGH_EVERY_MS, Garbage


class Ring:
    """Keeps itself alive."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """Of a process that has begun; what it set aside is given back."""
    clock = VirtualClock(1_000)
    garbage = Garbage(clock)
    garbage.begin()
    yield clock
    garbage.end()
    gc.freeze()  # as the tests have it


def test_what_a_full_collection_leaves_is_not_gone_through_again(clock: VirtualClock) -> None:
    """It stays as long as somebody has it, and goes at once when nobody does."""
    kept = [Ring()]
    gc.collect()
    assert not gc.get_objects(generation=2)
    assert gc.get_freeze_count() > 0
    seen = weakref.ref(kept[0])
    kept[0].own = None  # type: ignore[assignment]
    kept.clear()
    assert seen() is None


async def test_a_new_cycle_goes_and_one_set_aside_when_its_time_has_come(
    clock: VirtualClock,
) -> None:
    """Not before, so a collection stays short."""
    new, old = Ring(), Ring()
    seen_new, seen_old = weakref.ref(new), weakref.ref(old)
    del new
    gc.collect()
    assert seen_new() is None
    del old
    gc.collect()
    assert seen_old() is not None
    await clock.advance_ms(THOROUGH_EVERY_MS)
    gc.collect()
    assert seen_old() is None
