"""The load: events at a steady rate to all receivers, and some by the bus, each sent until it is
acknowledged.

Every event has a number. A request keeps its number range and its idempotency key until a receiver
(or the bus) has acknowledged it, whichever that is: the client's part of exactly once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import aiohttp

from lockstep.bus import Bus
from lockstep.bus.subjects import ID_HEADER
from lockstep.clock import SystemClock
from lockstep.events import UnavailableError
from tests.chaos.app import SYMBOLS

CLOCK = SystemClock()
LANES = 4
BUS_SHARE = 20  # one in so many events comes by the bus
TIMEOUT_S = 5.0
PAUSE_S = 0.1
BEHIND_MS = 1_000


@dataclass(slots=True)
class Load:
    """What was acknowledged: (first number, count) of each request; how many `events` receivers
    have taken over HTTP, and their furthest position."""

    acknowledged: list[tuple[int, int]] = field(default_factory=list)
    events: int = 0
    last_position: int = 0
    retries: int = 0
    surprises: list[str] = field(default_factory=list)
    longest_wait_ms: int = 0
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Door:
    """Where events go, and how many requests a second each lane makes of them."""

    app: str
    stream: str
    requests_per_second: int = 8


@contextlib.asynccontextmanager
async def under_load(
    door: Door,
    receivers: Sequence[str],
    bus: Bus,
    rate: int,
    seed: int,
    *,
    opened: Callable[[aiohttp.AddrInfoType], socket.socket],
) -> AsyncIterator[Load]:
    """Sends within the block. After it every number that was begun is acknowledged. `opened` makes
    the sockets of those who send over HTTP."""
    load = Load()
    numbers = itertools.count()
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    connector = aiohttp.TCPConnector(socket_factory=opened)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        lanes: list[_Lane | _BusLane] = [
            _Lane(load, door, session, receivers, rate, numbers, Random(f"{seed}/{lane}"), lane)
            for lane in range(LANES)
        ]
        lanes.append(_BusLane(load, door, bus, rate // BUS_SHARE, numbers, Random(f"{seed}/bus")))
        sending = [asyncio.create_task(lane.run()) for lane in lanes]
        try:
            yield load
            load.stopping = True
            await asyncio.gather(*sending)
        finally:
            for each in sending:
                each.cancel()


@dataclass(slots=True)
class _Lane:
    """One sender: a request at a time, on time where the receivers let it."""

    load: Load
    door: Door
    session: aiohttp.ClientSession
    receivers: Sequence[str]
    rate: int
    numbers: itertools.count[int]
    random: Random
    lane: int
    _at: int = 0

    async def run(self) -> None:
        """Until the load stops."""
        per_second = self.door.requests_per_second
        every_ms = 1_000 / per_second
        size = max(1, self.rate // (LANES * per_second))
        due_ms = CLOCK.monotonic_ms() + self.lane * every_ms / LANES
        self._at = self.lane
        while not self.load.stopping:
            await asyncio.sleep(max(0.0, (due_ms - CLOCK.monotonic_ms()) / 1_000))
            await self._deliver(size)
            due_ms = max(due_ms + every_ms, CLOCK.monotonic_ms() - BEHIND_MS)

    async def _deliver(self, size: int) -> None:
        chosen = list(itertools.islice(self.numbers, size))
        body = "\n".join(_event(self.random, number) for number in chosen).encode()
        began_ms = CLOCK.monotonic_ms()
        while not await self._accepted(body, f"{self.door.app}-{chosen[0]}", size):
            self.load.retries += 1
            self._at += 1
            await asyncio.sleep(PAUSE_S)
        load = self.load
        load.longest_wait_ms = max(load.longest_wait_ms, CLOCK.monotonic_ms() - began_ms)
        load.acknowledged.append((chosen[0], size))
        load.events += size

    async def _accepted(self, body: bytes, key: str, size: int) -> bool:
        receiver = self.receivers[self._at % len(self.receivers)]
        url = f"{receiver}/v1/apps/{self.door.app}/streams/{self.door.stream}/events"
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key}
        try:
            async with self.session.post(url, data=body, headers=headers) as response:
                answer = await response.json()
                if response.status == 200 and answer["accepted"] == size:
                    position = answer["last_position"]
                    self.load.last_position = max(self.load.last_position, position)
                    return True
                if response.status not in (429, 503):
                    self.load.surprises.append(f"{response.status} {str(answer)[:200]}")
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            pass
        return False


@dataclass(slots=True)
class _BusLane:
    """A sender that speaks to NATS alone: its events are durable there before a receiver sees
    them."""

    load: Load
    door: Door
    bus: Bus
    rate: int
    numbers: itertools.count[int]
    random: Random

    async def run(self) -> None:
        """Until the load stops."""
        per_second = self.door.requests_per_second
        size = max(1, self.rate // per_second)
        while not self.load.stopping:
            await asyncio.sleep(1 / per_second)
            chosen = list(itertools.islice(self.numbers, size))
            body = "[" + ",".join(_event(self.random, number) for number in chosen) + "]"
            while not await self._stored(body.encode(), f"{self.door.app}-bus-{chosen[0]}"):
                self.load.retries += 1
                await asyncio.sleep(PAUSE_S)
            self.load.acknowledged.append((chosen[0], size))

    async def _stored(self, body: bytes, key: str) -> bool:
        headers = {ID_HEADER: key, "Content-Type": "application/json"}
        try:
            await self.bus.ingress.publish(self.door.app, self.door.stream, body, headers=headers)
        except UnavailableError:
            return False
        return True


def _event(draw: Random, number: int) -> str:
    symbol, price, volume = draw.randrange(SYMBOLS), draw.random() * 100, draw.randrange(1_000)
    return f'{{"seq":{number},"symbol":"S{symbol}","price":{price:.2f},"volume":{volume}}}'
