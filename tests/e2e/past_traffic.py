"""Numbered trades for the trial of `deploy --from`, in Arrow over HTTP: in bulk, then at a rate to
several apps. What one app got as one send, the others get as one send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lockstep.cli.client import Client
from lockstep.clock import SystemClock
from lockstep.events import LockstepError, Position

STREAM: Final = "Trade"
ARROW: Final = "application/vnd.apache.arrow.stream"
SYMBOLS: Final = 100
BULK_EVENTS: Final = 25_000
BEGAN_MS: Final = 1_700_000_000_000
EVENTS_PER_MS: Final = 5
SENDS_PER_S: Final = 10
AGAIN_MS: Final = 250
POLL_MS: Final = 20

_CLOCK = SystemClock()
_NAMES: Final = pa.array([f"SYM{number:03d}" for number in range(SYMBOLS)])


def trades(first: int, count: int) -> bytes:
    """Those of these numbers. All of a trade follows from its number, its time too."""
    numbers = np.arange(first, first + count)
    # Two rounds of a multiplication in 32 bits: prices that follow one another look like chance.
    mixed = numbers * 2_654_435_761 % 2**32
    mixed = (mixed ^ (mixed >> 15)) * 2_246_822_519 % 2**32
    columns = {
        "symbol": _NAMES.take(pa.array(mixed // 7 % SYMBOLS)),
        "price": pa.array((10_000 + mixed % 10_000) / 100),
        "volume": pa.array(1_000 + mixed % 997),
        "number": pa.array(numbers),
        "_timestamp": pa.array(BEGAN_MS + numbers // EVENTS_PER_MS),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


@dataclass(frozen=True, slots=True)
class Sent:
    """One send to the app that ran all the time: which trades, and where they stand in its log."""

    first: int
    count: int
    position: Position


@dataclass(slots=True)
class Traffic:
    """One sender: `archived` in bulk, then `live` at a rate until `enough`. `followed_by` sends
    what stands behind a position of the first app's log to another one, in the same order."""

    client: Client
    app: str
    next: int = 0
    live: int = 0
    last: Position = 0
    sent: list[Sent] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def bulk(self, events: int) -> None:
        """One send after another, as fast as they are durable."""
        while self.next < events:
            await self._one(min(BULK_EVENTS, events - self.next))
        self.sent.clear()

    async def run(self, rate: int) -> None:
        """Until `enough`; a send that is late is made up for."""
        began_ms, count = _CLOCK.monotonic_ms(), rate // SENDS_PER_S
        while not self.enough.is_set():
            due_ms = began_ms + self.live * 1_000 // rate
            await _CLOCK.sleep_ms(max(0, due_ms - _CLOCK.monotonic_ms()))
            await self._one(count)
            self.live += count
        self.over.set()

    async def followed_by(self, app: str, behind: Position) -> Position:
        """The last position of that app's log, when it has got all."""
        last = 0
        async for one in self._behind(behind):
            answer = await self._sent(app, one.first, one.count)
            last = answer["last_position"]
        return last

    async def _behind(self, position: Position) -> AsyncIterator[Sent]:
        at = 0
        while not self.over.is_set() or at < len(self.sent):
            if at == len(self.sent):
                await _CLOCK.sleep_ms(POLL_MS)
                continue
            if self.sent[at].position > position:
                yield self.sent[at]
            at += 1

    async def _one(self, count: int) -> None:
        answer = await self._sent(self.app, self.next, count)
        self.last = answer["last_position"]
        self.sent.append(Sent(self.next, count, self.last))
        self.next += count

    async def _sent(self, app: str, first: int, count: int) -> Any:
        body = trades(first, count)
        url = f"{self.client.addresses.receiver}/v1/apps/{app}/streams/{STREAM}/events?chunk=row"
        headers = {"Content-Type": ARROW, "Idempotency-Key": f"past-{first}"}

        async def send() -> Any:
            return await self.client.request("POST", url, body=body, headers=headers)

        answer = await asked_until_told(send)
        assert answer["accepted"] == count, answer
        return answer


async def asked_until_told(ask: Callable[[], Any]) -> Any:
    """Again and again while the suite says that it may help."""
    while True:
        try:
            return await ask()
        except LockstepError as error:
            if not error.retryable:
                raise
            await _CLOCK.sleep_ms(AGAIN_MS)
