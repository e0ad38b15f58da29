"""Events that ask for rows: numbered, in Arrow over HTTP, to receivers that may die meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.cli.client import Client
from lockstep.clock import SystemClock
from lockstep.events import LockstepError
from tests.e2e.lookups_tables import ABSENT, HOT

CLOCK = SystemClock()
ARROW: Final = "application/vnd.apache.arrow.stream"
SENDS_PER_S: Final = 20
AT_ONCE: Final = 4
AGAIN_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Sent:
    """Events that went together: when they were first sent, and when they were durable."""

    first: int
    count: int
    began_ms: int
    durable_ms: int


@dataclass(slots=True)
class Asker:
    """Sends the events of one stream. Which row an event asks for follows from its number."""

    client: Client
    receivers: Sequence[str]
    app: str
    stream: str
    size: int
    next: int = 0
    sent: list[Sent] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def steadily(self, rate: int) -> None:
        """Until `enough`; a send that is late is made up for."""
        began_ms, first = CLOCK.monotonic_ms(), self.next
        while not self.enough.is_set():
            due_ms = began_ms + (self.next - first) * 1_000 // rate
            await CLOCK.sleep_ms(max(0, due_ms - CLOCK.monotonic_ms()))
            await self.send(max(1, rate // SENDS_PER_S))

    async def flat_out(self, events: int, batch: int) -> None:
        """As fast as they are taken, some sends at once."""
        end = self.next + events

        async def sending() -> None:
            while self.next < end:
                await self.send(min(batch, end - self.next))

        await asyncio.gather(*(sending() for _ in range(AT_ONCE)))

    async def send(self, count: int) -> None:
        """Again and again under one key, to one receiver after the other, until it is durable."""
        first, self.next = self.next, self.next + count
        body, began_ms, attempt = self._body(first, count), CLOCK.monotonic_ms(), first
        headers = {"Content-Type": ARROW, "Idempotency-Key": f"{self.stream}-{first}"}
        while True:
            receiver = self.receivers[attempt % len(self.receivers)]
            url = f"{receiver}/v1/apps/{self.app}/streams/{self.stream}/events?chunk=row"
            try:
                await self.client.request("POST", url, body=body, headers=headers)
                break
            except LockstepError as error:
                if not error.retryable:
                    raise
                attempt += 1
                await CLOCK.sleep_ms(AGAIN_MS)
        self.sent.append(Sent(first, count, began_ms, CLOCK.monotonic_ms()))

    def _body(self, first: int, count: int) -> bytes:
        ids = np.arange(first, first + count, dtype=np.int64)
        columns = {"id": pa.array(ids), "customer": pa.array(customers_of(ids, self.size))}
        batch = pa.RecordBatch.from_pydict(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())


def customers_of(ids: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int32]:
    """Half of the events ask for rows that are changed often, the others for any, also for some
    that may not be there."""
    mixed = ids * 2_654_435_761 % 2**32
    mixed = (mixed ^ (mixed >> 15)) * 2_246_822_519 % 2**32
    drawn = mixed >> 1
    found: npt.NDArray[np.int64] = (
        np.where(mixed & 1, drawn % min(HOT, size), drawn % (size + ABSENT)) + 1
    )
    return found.astype(np.int32)
