"""Keeps a log within its bytes, without the server setting them aside.

JetStream reserves a stream's own byte limit on its disk from the beginning, so a few dozen empty
logs would fill it. Writers look at the log's size instead, each time they have added a share of the
limit: it holds to within that share per writer.
"""

from __future__ import annotations

import asyncio
from typing import Final

from lockstep.bus.errors import LogFullError
from lockstep.bus.nats.jetstream import JetStream

_SHARE: Final = 16


class Room:
    """How much one log may still take, as one writer knows it."""

    def __init__(self, jetstream: JetStream, stream: str, subject: str) -> None:
        self._jetstream = jetstream
        self._stream = stream
        self._subject = subject
        self._limit_bytes = jetstream.limits.max_log_bytes
        self._left_bytes = 0  # what may be added before looking again
        self._turn = asyncio.Lock()

    async def take(self, size_bytes: int) -> None:
        """Room for so many bytes, in the order of the calls; LogFullError when there is none."""
        async with self._turn:
            if self._left_bytes < size_bytes:
                await self._look(size_bytes)
            self._left_bytes -= size_bytes

    async def _look(self, size_bytes: int) -> None:
        held_bytes = int((await self._jetstream.state(self._stream))["bytes"])
        free_bytes = self._limit_bytes - held_bytes
        if free_bytes < size_bytes:
            raise LogFullError(self._subject, self._limit_bytes)
        self._left_bytes = min(free_bytes, max(size_bytes, self._limit_bytes // _SHARE))
