"""Looking after tables, one after another, with pauses between them. Files that are put together
take all cores of a small machine, and a leader may just be dying."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, Protocol

from lockstep.archive.keeping import Upkeep
from lockstep.clock import Clock
from lockstep.frame import Offload

BUSY_SHARE: Final = 10
"""One in so many parts of the time goes to upkeep, as long as pauses are below their limit."""
APART_MAX_MS: Final = 5_000
"""A table that takes long keeps the next one waiting for no longer."""


class Held(Protocol):
    """What says whether the tables are still this publisher's to look after."""

    async def wait_lost(self, limit_ms: int) -> bool:
        """True as soon as it is lost; False when the time is up."""


async def in_turn(
    tables: Iterator[Upkeep], offload: Offload, clock: Clock, held: Held
) -> Upkeep | None:
    """What was done to all of them; None when the lease was lost before the last. `tables`: a table
    with each step, which blocks. UnavailableError."""
    done = Upkeep()
    while True:
        began_ms = clock.monotonic_ms()
        one = await offload.run(partial(next, tables, None))
        if one is None:
            return done
        done += one
        took_ms = clock.monotonic_ms() - began_ms
        if await held.wait_lost(min(APART_MAX_MS, (BUSY_SHARE - 1) * took_ms)):
            return None
