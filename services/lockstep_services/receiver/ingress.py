"""The bus's front door: messages of ingress.<app>.<stream> become records exactly once.

While the processors lag, nothing is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lockstep.bus import Bus, IngressMessage
from lockstep.clock import Clock
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.messages import BusMessage, Transfer

READ_WAIT_MS: Final = 1_000
MAX_MESSAGES: Final = 256
PAUSE_MS: Final = 200


class IngressReader:
    """Transfers messages until told to stop."""

    def __init__(self, bus: Bus, take: Transfer, gate: Gate, clock: Clock) -> None:
        self._bus = bus
        self._take = take
        self._gate = gate
        self._clock = clock
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Until `drain`; UnavailableError when the bus is away."""
        while not self._stopping:
            messages = await self._bus.ingress.read(max_messages=MAX_MESSAGES, wait_ms=READ_WAIT_MS)
            self._idle.clear()
            try:
                await self._transfer_all(messages)
            finally:
                self._idle.set()

    async def drain(self) -> None:
        """Reads no more and ends what it has begun."""
        self._stopping = True
        await self._idle.wait()

    async def _transfer_all(self, messages: Sequence[IngressMessage]) -> None:
        by_app: dict[str, list[IngressMessage]] = {}
        for message in messages:
            by_app.setdefault(message.app, []).append(message)
        # Apps do not wait for one another; within an app the order is kept.
        await asyncio.gather(*(self._transfer(app, each) for app, each in by_app.items()))

    async def _transfer(self, app: str, messages: Sequence[IngressMessage]) -> None:
        while self._gate.is_closed(app) and not self._stopping:
            await self._clock.sleep_ms(PAUSE_MS)
        await self._take.all(
            [
                BusMessage(
                    each.app, each.stream, each.payload, each.headers, f"ingress/{each.id}",
                    each.acknowledge,
                )
                for each in messages
            ]
        )  # fmt: skip
