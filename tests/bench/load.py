"""Load for the suite: numbered events in bodies of one size, at a set rate whatever comes back.

Every event's price follows from its number, so that whoever reads the outputs knows which of them
there must be. A batch's time is the one it was due at, not the one it was sent at, so that waiting
behind a slow answer counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.bus import Bus
from lockstep.cli.client import Client
from lockstep.cli.refusals import RefusedError
from lockstep.events import UnavailableError

APP: Final = "Bench"
STREAM: Final = "Trade"
TEXT: Final = """@app:name('Bench')
define stream Trade (symbol string, price double, volume long, number long);
@sink(type='log')
define stream Seconds (symbol string, average double, trades long);
from Trade[price > 150.0] select symbol, price * volume as value, number insert into Large;
from Trade#window.timeBatch(1 sec) select symbol, avg(price) as average, count() as trades
group by symbol insert into Seconds;
"""
"""Half of the events come out as rows of their own, and all of them in aggregates."""

HOUR: Final = """from Trade#window.time(1 hour)
select symbol, avg(price) as average, max(price) as highest, count() as trades
group by symbol output last every 1 sec insert into Hour;
"""
"""To be added to TEXT: a window that holds everything that a run brings."""

FIRST: Final = 1_000_000_000  # ten digits from the first number on, so that all rows are as long
NDJSON: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
MAX_UNDER_WAY: Final = 48
SYMBOLS: Final = 100
_ROW: Final = b'{"symbol":"SYM000","price":100.00,"volume":1000,"number":1000000000}\n'

Longs = npt.NDArray[np.int64]
Send = Callable[[int, bytes], Awaitable[None]]
"""(number of the batch, body) → durable when it returns."""


def cents(numbers: Longs) -> Longs:
    """Each event's price above 100.00, in hundredths."""
    return numbers * 7_919 % 10_000


def comes_out(numbers: Longs) -> npt.NDArray[np.bool_]:
    """Whether an event of that number is a row of `Large`."""
    return cents(numbers) > 5_000


def ndjson(numbers: Longs) -> bytes:
    """One line per event."""
    rows = np.tile(np.frombuffer(_ROW, np.uint8), (len(numbers), 1))
    _digits(rows, _ROW.index(b"000"), 3, numbers % SYMBOLS)
    price = cents(numbers)
    _digits(rows, _ROW.index(b"100.00") + 1, 2, price // 100)
    _digits(rows, _ROW.index(b"100.00") + 4, 2, price % 100)
    _digits(rows, _ROW.index(b":1000,") + 2, 3, numbers % 1_000)
    _digits(rows, _ROW.index(b"1000000000"), 10, numbers)
    return rows.tobytes()


def _digits(rows: npt.NDArray[np.uint8], at: int, width: int, values: Longs) -> None:
    for place in range(width):
        rows[:, at + width - 1 - place] = ord("0") + values // 10**place % 10


_NAMES: Final = pa.array([f"SYM{number:03d}" for number in range(SYMBOLS)])


def arrow(numbers: Longs) -> bytes:
    """The same events as one Arrow batch."""
    columns = [
        _NAMES.take(pa.array(numbers % SYMBOLS)),
        pa.array((10_000 + cents(numbers)) / 100),
        pa.array(1_000 + numbers % 1_000),
        pa.array(numbers),
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=["symbol", "price", "volume", "number"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


@dataclass(slots=True)
class Sent:
    """What was sent: when each batch was due (seconds, monotonic), and how it went."""

    batch_events: int
    due_s: list[float] = field(default_factory=list)
    answered_ms: list[float] = field(default_factory=list)
    pushed_back: int = 0
    unavailable: int = 0
    late_s: float = 0.0

    @property
    def events(self) -> int:
        """How many."""
        return len(self.due_s) * self.batch_events


@dataclass(frozen=True, slots=True)
class Transport:
    """How batches get to the receiver."""

    name: str
    encode: Callable[[Longs], bytes]
    content_type: str
    by_bus: bool = False

    def sender(self, client: Client, bus: Bus) -> Send:
        """Sends a batch once; a repetition bears the same key."""
        if self.by_bus:
            headers = {"Content-Type": self.content_type}

            async def publish(number: int, body: bytes) -> None:
                await bus.ingress.publish(APP, STREAM, body, headers=headers)

            return publish
        url = f"{client.addresses.receiver}/v1/apps/{APP}/streams/{STREAM}/events?chunk=row"

        async def post(number: int, body: bytes) -> None:
            headers = {"Content-Type": self.content_type, "Idempotency-Key": f"bench-{number}"}
            await client.request("POST", url, body=body, headers=headers)

        return post


TRANSPORTS: Final = {
    each.name: each
    for each in (
        Transport("ndjson", ndjson, NDJSON),
        Transport("arrow", arrow, ARROW),
        Transport("bus", ndjson, NDJSON, by_bus=True),
    )
}


class Load:
    """Sends `events_per_s` in batches, one after another's due time, from the number `first` on."""

    def __init__(self, transport: Transport, send: Send, batch_events: int) -> None:
        self._transport = transport
        self._send = send
        self._under_way = asyncio.Semaphore(MAX_UNDER_WAY)
        self.sent = Sent(batch_events)

    async def run(self, events_per_s: float, seconds: float) -> None:
        """Returns when everything is durable."""
        every_s = self.sent.batch_events / events_per_s
        first = len(self.sent.due_s)
        began_s = time.monotonic() + every_s
        async with asyncio.TaskGroup() as group:
            for turn in range(round(seconds / every_s)):
                due_s = began_s + turn * every_s
                body = self._body(first + turn)
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))
                await self._under_way.acquire()
                self.sent.late_s = max(self.sent.late_s, time.monotonic() - due_s)
                self.sent.due_s.append(due_s)
                group.create_task(self._one(first + turn, body))

    def _body(self, batch: int) -> bytes:
        start = FIRST + batch * self.sent.batch_events
        return self._transport.encode(np.arange(start, start + self.sent.batch_events))

    async def _one(self, batch: int, body: bytes) -> None:
        began_s = time.monotonic()
        try:
            while True:
                try:
                    await self._send(batch, body)
                    self.sent.answered_ms.append(1000 * (time.monotonic() - began_s))
                    return
                except RefusedError as error:
                    if not error.retryable:
                        raise
                    self.sent.pushed_back += 1
                    await asyncio.sleep(error.retry_after_s or 1.0)
                except UnavailableError:
                    self.sent.unavailable += 1
                    await asyncio.sleep(0.2)
        finally:
            self._under_way.release()
