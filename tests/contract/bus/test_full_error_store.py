"""An error store that is full is told as that of all apps: who has no letter there yet learns that
others have filled it, and what empties it."""

from __future__ import annotations

import contextlib

import pytest

from lockstep.bus import Bus, BusLimits, DeadLetter, ErrorStoreFullError, dead_subject
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer

LIMITS = BusLimits(dead_letters_max_bytes=50_000)


def _letter(app: str) -> DeadLetter:
    return DeadLetter(app, "S 1", "no such field", b"x" * 5_000, "text/plain", 5, "n1", 3)


async def _filled_by_another(bus: Bus) -> None:
    letters, count = bus.dead_letters, 0
    with contextlib.suppress(ErrorStoreFullError):
        while count < 100:
            await letters.append(_letter("Loud"))
            count += 1
    assert 5 < count < 100
    with pytest.raises(ErrorStoreFullError) as told:
        await letters.append(_letter("Quiet"))
    assert told.value.retryable
    assert told.value.where == dead_subject("Quiet", "S 1")
    assert told.value.message == "the error store, which all apps share, is full (50000 bytes)"
    assert "`--purge-all`" in str(told.value)
    assert "bus.dead_letters_max_bytes" in str(told.value)
    await letters.remove([one.sequence for one in await letters.read("Loud")])
    await letters.append(_letter("Quiet"))


async def test_in_memory() -> None:
    """As on every carrier."""
    await _filled_by_another(MemoryBus(MemoryCarrier(SystemClock(), LIMITS)))


@pytest.mark.servers
async def test_on_nats(server: NatsServer) -> None:
    """Where the server keeps the limit."""
    bus = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    try:
        await _filled_by_another(bus)
    finally:
        await bus.close()
