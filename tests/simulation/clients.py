"""Clients: they send with ids, and again until they are told that it was accepted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from lockstep.events import LockstepError
from tests.simulation.apps import STREAM, SYMBOLS, event
from tests.simulation.bus import SimBus
from tests.simulation.door import SimDoor, call
from tests.simulation.loop import Host, HostClock
from tests.simulation.network import Network

TIMEOUT_MS: Final = 1_200
PAUSE_MS: Final = (40, 250)
HTTP_OK: Final = 200

Doors = Callable[[], list[tuple[Host, SimDoor]]]


@dataclass
class Sent:
    """A message: its events' numbers, and whether the client was told that it is accepted."""

    key: str
    numbers: tuple[int, ...]
    accepted: bool = False
    tries: int = 0


@dataclass
class Client:
    """`mode`: any, failover, all (full-active-active) or bus. One message after the other."""

    name: str
    mode: str
    app: str
    network: Network
    clock: HostClock
    random: random.Random
    doors: Doors
    bus: SimBus
    first_number: int
    symbols: tuple[str, ...] = SYMBOLS
    sent: list[Sent] = field(default_factory=list)
    preferred: int = 0

    @property
    def host(self) -> Host:
        """Where it runs."""
        return self.bus.host

    async def run(self, until_ms: int, every_ms: int) -> None:
        """Sends until the time has come, then makes sure of the last message."""
        number = self.first_number
        while self.clock.monotonic_ms() < until_ms:
            count = self.random.choice((1, 1, 1, 2, 3))
            numbers = tuple(range(number, number + count))
            number += count
            message = Sent(f"{self.name}-{numbers[0]}", numbers)
            self.sent.append(message)
            rows = [event(self.random, n, self.symbols) for n in numbers]
            await self._send(message, rows)
            await self.clock.sleep_ms(round(self.random.uniform(0.3, 1.7) * every_ms))

    async def _send(self, message: Sent, rows: list[list[Any]]) -> None:
        while not message.accepted:
            message.tries += 1
            try:
                message.accepted = await self._try(message, rows)
            except LockstepError:
                message.accepted = False
            if not message.accepted:
                await self.clock.sleep_ms(round(self.random.uniform(*PAUSE_MS)))

    async def _try(self, message: Sent, rows: list[list[Any]]) -> bool:
        body = msgspec.json.encode(rows)
        if self.mode == "bus":
            headers = {"Nats-Msg-Id": message.key, "Content-Type": "application/json"}
            await self.bus.ingress.publish(self.app, STREAM, body, headers=headers)
            return True
        doors = self.doors()
        if not doors:
            return False
        if self.mode == "all":
            done = [await self._post(door, message, body) for door in doors]
            return any(done)
        if self.mode == "any":
            return await self._post(self.random.choice(doors), message, body)
        if await self._post(doors[self.preferred % len(doors)], message, body):
            return True
        self.preferred += 1
        return False

    async def _post(self, door: tuple[Host, SimDoor], message: Sent, body: bytes) -> bool:
        try:
            reply = await call(
                self.network, self.host, *door, "POST",
                f"/v1/apps/{self.app}/streams/{STREAM}/events",
                body=body,
                headers={"Idempotency-Key": message.key, "Content-Type": "application/json"},
                timeout_ms=TIMEOUT_MS,
            )  # fmt: skip
        except LockstepError:
            return False
        return reply.status == HTTP_OK
