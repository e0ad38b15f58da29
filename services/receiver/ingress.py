"""The bus's front door: messages of ingress.<app>.<stream> become records exactly once.

A message is acknowledged after its record (or its dead letter) is durable; its id is the record's
key, so a message delivered again finds the record there. While the processors lag, nothing is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lockstep.bus import Bus, IngressMessage
from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError
from lockstep.telemetry import Logger
from services.receiver.accept import Acceptor, Sending
from services.receiver.decode import JSON, Refusal
from services.receiver.gate import Gate
from services.receiver.values import FieldError

READ_WAIT_MS: Final = 1_000
MAX_MESSAGES: Final = 256
PAUSE_MS: Final = 200


class IngressReader:
    """Transfers messages until told to stop."""

    def __init__(self, bus: Bus, acceptor: Acceptor, gate: Gate, clock: Clock, log: Logger) -> None:
        self._bus = bus
        self._acceptor = acceptor
        self._gate = gate
        self._clock = clock
        self._log = log
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
        while self._gate.is_behind(app) and not self._stopping:
            await self._clock.sleep_ms(PAUSE_MS)
        # Started in order, they reach the intake in order.
        outcomes = await asyncio.gather(
            *(self._one(message) for message in messages), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _one(self, message: IngressMessage) -> None:
        content_type = message.headers.get("Content-Type", JSON)
        key = f"ingress/{message.id}"
        sending = Sending(content_type, _timestamp(message), key)
        try:
            await self._acceptor.accept(message.app, message.stream, message.payload, sending)
        except LockstepError as error:
            if error.fault is not Fault.USER:
                raise
            await self._bury(message, error, content_type, key)
        await message.acknowledge()

    async def _bury(
        self, message: IngressMessage, error: LockstepError, content_type: str, key: str
    ) -> None:
        found = getattr(error, "errors", None) or [FieldError(None, error.message)]
        refusal = Refusal(0, tuple(found), message.payload)
        await self._acceptor.bury(message.app, message.stream, [refusal], content_type, key)
        self._log.warning(
            "ingress message refused", app=message.app, stream=message.stream, why=refusal.reason
        )


def _timestamp(message: IngressMessage) -> int | None:
    given = message.headers.get("Timestamp-Ms", "")
    return int(given) if given.isdigit() else None
