"""Tells readers that wait at the end of their logs when something comes, without a consumer each.

Whoever waits has a plain subscription on the log's subject until the first message: that costs
nothing while the log is quiet. Such messages can get lost, between servers of a cluster too. So the
ends of all logs that are waited for are looked at after a reconnect, soon after each beginning, and
now and then; a few requests do for any number of logs.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary, ref

from nats.aio.msg import Msg

from lockstep.bus.errors import LogGoneError
from lockstep.bus.nats.errors import ApiError
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.subjects import INPUT_LOGS, OUTPUT_LOGS, subject_of
from lockstep.events import UnavailableError

_WATCH_EVERY_S: Final = 0.5
_SETTLED_AFTER_S: Final = 2.0
_LOOK_EVERY_S: Final = 30.0
_FEW: Final = 16
"""So many logs are asked for one by one."""


@dataclass(eq=False)
class Bell:
    """`rung` once there may be something behind `after`. `Bells.close` it, or let go of it."""

    stream: str
    after: int
    rung: asyncio.Event = field(default_factory=asyncio.Event)
    key: int = -1


class Bells:
    """Of one connection."""

    def __init__(self, jetstream: JetStream) -> None:
        self._jetstream = jetstream
        self._connection = jetstream.connection
        self._open: WeakValueDictionary[int, Bell] = WeakValueDictionary()
        self._watching: asyncio.Task[None] | None = None
        self._began_at = 0.0

    async def open(self, stream: str, after: int) -> Bell:
        """Rings for what comes from now on, and for what is there already. UnavailableError,
        ApiError."""
        bell = Bell(stream, after)
        waiting = ref(bell)

        async def take(_: Msg) -> None:
            if (ringing := waiting()) is not None:
                ringing.rung.set()
                # The reader takes the rest from the log.
                await self.close(ringing)

        bell.key = await self._connection.subscribe(subject_of(stream), take, owner=bell)
        self._open[bell.key] = bell
        try:
            state = await self._jetstream.state(stream)
            self._tell(bell, int(state["messages"]), int(state["last_seq"]))
        except BaseException:
            await self.close(bell)
            raise
        self._began_at = asyncio.get_running_loop().time()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return bell

    async def close(self, bell: Bell) -> None:
        """Rings no more; idempotent."""
        if self._open.pop(bell.key, None) is not None:
            await self._connection.unsubscribe(bell.key)

    def stop(self) -> None:
        """Before the connection is closed."""
        if self._watching is not None:
            self._watching.cancel()

    @staticmethod
    def _tell(bell: Bell, messages: int, last_sequence: int) -> None:
        if messages > 0 and last_sequence > bell.after:
            bell.rung.set()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        generation, looked_at = self._connection.generation, loop.time()
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            now = loop.time()
            # Servers of a cluster tell each other of a new subscription only a little later.
            settled_at = self._began_at + _SETTLED_AFTER_S
            is_due = looked_at < settled_at <= now or now - looked_at >= _LOOK_EVERY_S
            if not self._open:
                generation, looked_at = self._connection.generation, now
            elif is_due or generation != self._connection.generation:
                current = self._connection.generation
                with contextlib.suppress(UnavailableError, ApiError):
                    await self._look()
                    generation, looked_at = current, now

    async def _look(self) -> None:
        bells = [bell for bell in self._open.values() if not bell.rung.is_set()]
        ends: dict[str, tuple[int, int]] = {}
        if len(bells) <= _FEW:
            for stream in {bell.stream for bell in bells}:
                with contextlib.suppress(ApiError, LogGoneError):
                    state = await self._jetstream.state(stream)
                    ends[stream] = int(state["messages"]), int(state["last_seq"])
        else:
            for pattern in (INPUT_LOGS, OUTPUT_LOGS):
                ends |= await self._jetstream.ends(pattern)
        for bell in bells:
            end = ends.get(bell.stream)
            if end is None:
                bell.rung.set()  # it is gone, which its reader has to find out
            else:
                self._tell(bell, *end)
