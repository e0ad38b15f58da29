"""Reads one partition of a topic from any offset on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lockstep.bus.errors import LogGoneError
from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.clients import Clients
from lockstep.bus.kafka.window import Raw, Window
from lockstep.events import UnavailableError

_LOOK_S: Final = 0.25  # after which it is asked whether there is anything
_SOON_S: Final = 0.02
_TRIES: Final = 3


class Tape:
    """One reader at a time; what was fetched ahead is kept for the next read."""

    def __init__(
        self, broker: Broker, topic: str, partition: int = 0, clients: Clients | None = None
    ) -> None:
        self._broker = broker
        self.topic = topic
        self.partition = partition
        self._clients = clients or broker.clients
        self._limit_s = broker.connection.limits.publish_timeout_ms / 1000
        self._window: Window | None = None

    async def read(
        self, offset: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[Raw]:
        """Records from an offset on, at least one, if one comes in time; offsets may be missing.
        What was there before is found however short the time is."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_ms / 1000
        again_s = deadline_s + self._limit_s / _TRIES
        end: int | None = None
        while True:
            window = await self._at(offset)
            if taken := window.take(offset, max_records, max_bytes):
                return taken
            seen, left_s = window.next, deadline_s - loop.time()
            if left_s <= 0 or (not window.is_sure and left_s < _LOOK_S):
                if end is None and (wait_ms < 2 * _LOOK_S * 1000 or not window.is_sure):
                    end = await self._broker.end(self.topic, self.partition)
                if (end is None or end <= seen) and left_s <= 0:
                    return ()
                if loop.time() > deadline_s + self._limit_s:
                    raise UnavailableError("the bus does not give its records", where=self.topic)
                if loop.time() > again_s:  # the client may have lost its way
                    again_s += self._limit_s / _TRIES
                    self._clients.release(window)
                    continue
                left_s = max(left_s, _SOON_S)
            await window.more(offset, min(left_s, _LOOK_S))

    def leave(self) -> None:
        """Its place is kept no longer; the next read takes a new one."""
        if self._window is not None:
            self._clients.leave(self, self._window)
            self._window = None

    async def _at(self, offset: int) -> Window:
        window = self._window
        if window is not None and window.trouble is not None:
            self._window = None
            self._clients.release(window)
            is_gone = isinstance(window.trouble, LogGoneError)
            if not is_gone or await self._broker.is_gone(self.topic):
                raise window.trouble
            window = None  # a broker has yet to hear of it
        if window is None or not window.covers(offset):
            self.leave()
            key = (self.topic, self.partition)
            window = self._window = await self._clients.window(self, key, offset)
        return window
