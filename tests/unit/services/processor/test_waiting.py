"""How long a replica waits for what comes."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import LogGoneError
from lockstep.clock import VirtualClock
from lockstep.events import TickRecord, UnavailableError
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.settings import load_settings
from lockstep.telemetry import get_logger
from lockstep_services.processor.fold.coming import (
    AWAY_PAUSE_MAX_MS,
    QUIET_WAIT_MS,
    RESTING_WAIT_MS,
)
from lockstep_services.processor.fold.folding import FoldLoop
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


def fold_loop(log: Log, engine: Any, clock: VirtualClock | None = None) -> FoldLoop:
    """Of a leader that folds nothing, as somebody has paused it."""
    lead = Lead(permit=object())  # type: ignore[arg-type]  # any will do
    lead.promote(True)
    site: Any = SimpleNamespace(
        settings=load_settings({}),
        clock=clock or VirtualClock(0),
        input=log,
        log=get_logger(),
    )
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


async def test_a_reader_knows_when_it_is_at_the_end() -> None:
    """A read that its limits cut short says nothing of what is behind it."""
    log, engine = Log(), SimpleNamespace(position=0, next_due_ms=None)
    coming = fold_loop(log, engine)._coming
    tick = encode_record(TickRecord(5))
    for count, is_end in [(0, False), (3, True), (coming._size.records_to_read, False)]:
        log.entries = [EncodedEntry(at, tick) for at in range(1, count + 1)]
        await coming.next(0)
        assert coming.saw_the_end is is_end
    large = b"\0" * coming._settings.slice_max_bytes
    log.entries = [EncodedEntry(1, large)]
    await coming.next(0)
    assert not coming.saw_the_end


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


class AwayLog(Log):
    """A bus that is away for a while; `is_gone`: then there is no such log."""

    is_gone = False
    failures = 3

    async def read_encoded(self, _: int, *, wait_ms: int, **__: int) -> list[EncodedEntry]:
        """What there is."""
        self.waits.append(wait_ms)
        if len(self.waits) <= self.failures:
            raise UnavailableError("the bus cannot be reached")
        if self.is_gone:
            raise LogGoneError("in/App")
        return self.entries


@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_bus_that_is_away_is_waited_for_with_the_state_in_hand(is_gone: bool) -> None:
    """Whoever begins again folds from its revision on; a log that is gone comes back as another."""
    log, engine = AwayLog(), SimpleNamespace(position=7, next_due_ms=None)
    log.is_gone = is_gone
    clock = VirtualClock(0)
    loop = fold_loop(log, engine, clock)
    stepping = asyncio.create_task(loop.step())
    await clock.advance_ms(AwayLog.failures * AWAY_PAUSE_MAX_MS)
    with pytest.raises(LogGoneError) if is_gone else nullcontext():
        await asyncio.wait_for(stepping, 30)
    assert len(log.waits) == AwayLog.failures + 1
