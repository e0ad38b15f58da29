"""How long a replica waits for what comes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from lockstep.clock import VirtualClock
from lockstep.events import TickRecord
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.settings import load_settings
from lockstep_services.processor.fold.folding import (
    QUIET_WAIT_MS,
    RESTING_WAIT_MS,
    FoldLoop,
)
from lockstep_services.processor.replica.leading import Lead


class Log:
    """Says for how long it was asked to wait."""

    def __init__(self) -> None:
        self.waits: list[int] = []
        self.entries: list[EncodedEntry] = []
        self.is_quiet = False

    async def read_encoded(self, _: int, *, wait_ms: int, **__: int) -> list[EncodedEntry]:
        """What there is."""
        self.waits.append(wait_ms)
        if self.is_quiet:
            await asyncio.Event().wait()
        return self.entries


def fold_loop(log: Log, engine: Any) -> FoldLoop:
    """Of a leader that folds nothing, as somebody has paused it."""
    lead = Lead(permit=object())  # type: ignore[arg-type]  # any will do
    lead.promote(True)
    site: Any = SimpleNamespace(settings=load_settings({}), clock=VirtualClock(0), input=log)
    view = SimpleNamespace(deployment=SimpleNamespace(origin=SimpleNamespace(position=9)))
    running: Any = SimpleNamespace(engine=engine, wanted=SimpleNamespace(view=view))
    nothing: Any = None
    loop = FoldLoop(site, running, lead, nothing, nothing)
    loop.pause()
    return loop


async def test_who_is_at_rest_waits_longer_until_something_comes() -> None:
    """A leader that a timer waits for never waits so long: the clock of a machine may jump."""
    log, engine = Log(), SimpleNamespace(position=0, next_due_ms=None)
    loop = fold_loop(log, engine)
    for _ in range(3):
        await loop.step()
    assert log.waits == [QUIET_WAIT_MS, RESTING_WAIT_MS, RESTING_WAIT_MS]
    log.entries = [EncodedEntry(1, encode_record(TickRecord(5)))]
    await loop.step()
    log.entries, engine.position = [], 1
    await loop.step()
    assert log.waits[3:] == [RESTING_WAIT_MS, QUIET_WAIT_MS]
    engine.next_due_ms = 10**9
    await loop.step()
    assert log.waits[5:] == [QUIET_WAIT_MS]


async def test_a_long_wait_ends_with_a_pause() -> None:
    """The state may be another one since, whose timer is due sooner."""
    log, engine = Log(), SimpleNamespace(position=0, next_due_ms=None)
    loop = fold_loop(log, engine)
    await loop.step()
    log.is_quiet = True
    waiting = asyncio.create_task(loop.step())
    for _ in range(5):
        await asyncio.sleep(0)
    assert log.waits == [QUIET_WAIT_MS, RESTING_WAIT_MS]
    assert not waiting.done()
    loop.pause()
    loop.resume()
    async with asyncio.timeout(30):
        await waiting
