"""The bus's front door: messages of ingress.<app>.<stream> become records exactly once.

Each app that has messages has a line of its own. While its processors lag, or its log takes
nothing, they wait there, and those of other apps go on. Nothing is read while all lines together
are full.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final

from lockstep.bus import Bus, IngressMessage
from lockstep.clock import Clock
from lockstep.frame import Tasks
from lockstep.settings import ReceiverSettings
from lockstep.telemetry import Logger
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.messages import BusMessage, Transfer

READ_WAIT_MS: Final = 1_000
MAX_MESSAGES: Final = 256
PAUSE_MS: Final = 200
DRAIN_POLL_MS: Final = 20

Key = tuple[str, str]
"""Stream and id of a message: the same when it is delivered again."""


@dataclass(slots=True)
class _Line:
    """Of one app, in the order in which they came, until each is acknowledged."""

    messages: dict[Key, IngressMessage] = field(default_factory=dict)
    fails: bool = False
    """What was tried last went wrong, and is tried again."""


class IngressReader:
    """Transfers messages until told to stop."""

    def __init__(
        self,
        bus: Bus,
        take: Transfer,
        gate: Gate,
        tasks: Tasks,
        clock: Clock,
        settings: ReceiverSettings,
        log: Logger,
    ) -> None:
        self._bus = bus
        self._take = take
        self._gate = gate
        self._tasks = tasks
        self._clock = clock
        self._max_messages = settings.ingress_max_held_messages
        self._max_bytes = settings.ingress_max_held_bytes
        self._log = log
        self._lines: dict[str, _Line] = {}
        self._messages = 0
        self._bytes = 0
        self._freed = asyncio.Event()
        self._is_told = False
        self._stopping = False

    async def run(self) -> None:
        """Until `drain`; UnavailableError when the bus is away."""
        while not self._stopping:
            room = self._max_messages - self._messages
            if room <= 0 or self._bytes >= self._max_bytes:
                await self._wait_for_room()
                continue
            found = await self._bus.ingress.read(
                max_messages=min(room, MAX_MESSAGES), wait_ms=READ_WAIT_MS
            )
            for message in found:
                self._hold(message)

    async def drain(self) -> None:
        """Reads no more and ends what it has begun, but for what cannot be taken now: that comes
        again."""
        self._stopping = True
        self._freed.set()
        while not all(line.fails for line in self._lines.values()):
            await self._clock.sleep_ms(DRAIN_POLL_MS)

    async def _wait_for_room(self) -> None:
        if not self._is_told:
            self._is_told = True
            app = max(self._lines, key=lambda one: len(self._lines[one].messages))
            self._log.warning(
                "the bus's front door is full, nothing is read there", app=app,
                held=self._messages, held_bytes=self._bytes,
                limit="receiver.ingress_max_held_messages, receiver.ingress_max_held_bytes",
            )  # fmt: skip
        self._freed.clear()
        await self._freed.wait()

    def _hold(self, message: IngressMessage) -> None:
        line = self._lines.get(message.app)
        if line is None:
            app, line = message.app, _Line()
            self._lines[app] = line
            self._tasks.supervise(f"ingress-{app}", partial(self._transfer, app, line), app=app)
        key = message.stream, message.id
        held = line.messages.get(key)
        if held is not None:
            # It was held for so long that it comes again: it stays where it is in the line.
            line.messages[key] = replace(held, acknowledge=message.acknowledge)
            return
        line.messages[key] = message
        self._messages += 1
        self._bytes += len(message.payload)

    async def _transfer(self, app: str, line: _Line) -> None:
        """Until nothing is left in the line. Errors: what is tried again, with all that is left."""
        while line.messages:
            while self._gate.is_closed(app) and not self._stopping:
                await self._clock.sleep_ms(PAUSE_MS)
            some = [
                self._message(line, *each) for each in islice(line.messages.items(), MAX_MESSAGES)
            ]
            line.fails, is_through = False, False
            try:
                await self._take.all(some)
                is_through = True
            finally:
                line.fails = not is_through
        del self._lines[app]

    def _message(self, line: _Line, key: Key, held: IngressMessage) -> BusMessage:
        async def acknowledge() -> None:
            await line.messages[key].acknowledge()
            self._let_go(line, key)

        return BusMessage(
            held.app, held.stream, held.payload, held.headers, f"ingress/{held.id}", acknowledge
        )

    def _let_go(self, line: _Line, key: Key) -> None:
        gone = line.messages.pop(key)
        self._messages -= 1
        self._bytes -= len(gone.payload)
        if self._messages <= self._max_messages // 2 and self._bytes <= self._max_bytes // 2:
            self._is_told = False
        self._freed.set()
