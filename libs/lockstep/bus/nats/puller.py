"""Pulls messages of one JetStream consumer: asks ahead within limits, hands out what has come.

Keeps one request open at the server, so that a new message comes without a round trip.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final
from weakref import ref

import msgspec
from nats.aio.msg import Msg

from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.errors import NotAllowedError
from lockstep.events import UnavailableError

_NS_PER_S: Final = 1_000_000_000
_PULL_EXPIRES_S: Final = 30
_HEARTBEAT_S: Final = 2
_SILENCE_S: Final = 5.0
_PAUSE_S: Final = 0.05
_REFUSED_PAUSE_S: Final = 0.5  # who may not is told so at once
_OVERHEAD_BYTES: Final = 65_536  # subject and headers count towards a pull's bytes
_PULL_OVER: Final = ("Exceeds MaxBytes", "Batch Completed")


class ConsumerGoneError(UnavailableError):
    """The consumer, or what it had sent, is lost: make a new one."""


class Puller:
    """One reader at a time. `close` it, or let go of it."""

    def __init__(self, connection: Connection, stream: str, consumer: str) -> None:
        self._connection = connection
        self._where = stream
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = connection.new_inbox()
        self._generation = connection.generation
        self._buffer: deque[tuple[float, Msg]] = deque()
        self._arrived = asyncio.Event()
        self._pulls = 0
        self._credit = 0  # messages that the open pull may still bring
        self._failure: str | None = None
        self._heard_at = 0.0
        self._key: int | None = None

    async def open(self) -> None:
        """Listens for what will be pulled."""
        listening = ref(self)

        async def take(message: Msg) -> None:
            if (puller := listening()) is not None:
                puller._take(message)

        self._key = await self._connection.subscribe(f"{self._inbox}.*", take, owner=self)

    async def close(self) -> None:
        """Idempotent."""
        key, self._key = self._key, None
        if key is not None:
            await self._connection.unsubscribe(key)

    async def drain(self) -> None:
        """As `close`, but what was on its way has come: nothing is sent here any more."""
        key, self._key = self._key, None
        if key is not None:
            await self._connection.drain(key)

    def buffered(self) -> Msg | None:
        """The next message, left where it is; None when none has come."""
        return self._buffer[0][1] if self._buffer else None

    def take(self) -> Msg:
        """The next message, which `buffered` has shown."""
        return self._buffer.popleft()[1]

    def waited_s(self) -> float:
        """For how long the next message has been here."""
        return asyncio.get_running_loop().time() - self._buffer[0][0]

    async def wait(self, limit_s: float, *, max_messages: int, max_bytes: int) -> bool:
        """True when a message has come, asking for some if none are asked for.

        Errors: ConsumerGoneError, UnavailableError.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit_s
        while not self._buffer:
            self._check(loop.time())
            if self._credit == 0:
                await self._pull(max_messages, max_bytes)
            remaining = deadline - loop.time()
            if remaining <= 0:
                return False
            self._arrived.clear()
            # The event loop has the time limit, and with it whoever waits, and so this puller.
            try:
                async with asyncio.timeout(min(remaining, _SILENCE_S)):
                    await self._arrived.wait()
            except TimeoutError:
                continue
        return True

    def _check(self, now: float) -> None:
        if self._failure is not None:
            raise ConsumerGoneError(self._failure, where=self._where)
        if self._generation != self._connection.generation:
            raise ConsumerGoneError("the connection was lost in between", where=self._where)
        if self._credit and now - self._heard_at > _SILENCE_S:
            raise ConsumerGoneError("the consumer is silent", where=self._where)

    async def _pull(self, max_messages: int, max_bytes: int) -> None:
        self._pulls += 1
        self._credit = max_messages
        self._heard_at = asyncio.get_running_loop().time()
        # Never less than one message can have, or the server would send none at all.
        floor_bytes = self._connection.max_payload_bytes + _OVERHEAD_BYTES
        request = {
            "batch": max_messages,
            "max_bytes": max(max_bytes, floor_bytes),
            "expires": _PULL_EXPIRES_S * _NS_PER_S,
            "idle_heartbeat": _HEARTBEAT_S * _NS_PER_S,
        }
        await self._connection.publish(
            self._next, msgspec.json.encode(request), reply=f"{self._inbox}.{self._pulls}"
        )

    def _take(self, message: Msg) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        # What is stored comes under its own subject, words about the pull under ours.
        if not message.subject.startswith(self._inbox):
            self._credit = max(0, self._credit - 1)
            self._buffer.append((self._heard_at, message))
        elif message.subject.endswith(f".{self._pulls}"):
            self._take_status(message.headers or {})
        self._arrived.set()

    def _take_status(self, headers: dict[str, str]) -> None:
        status, text = headers.get("Status", ""), headers.get("Description", "")
        if status == "100":
            return
        self._credit = 0
        # A 409 may also say that the consumer is gone; these say that the pull is over.
        over = any(words in text for words in _PULL_OVER)
        ended = status in ("404", "408") or (status == "409" and over)
        if not ended:
            self._failure = f"the consumer answers {status} {text}".strip()


def pause_s(error: Exception, failures: int) -> float:
    """Before a consumer is made anew, after so many failures."""
    if isinstance(error, NotAllowedError):
        return _REFUSED_PAUSE_S
    return 0 if failures == 1 else _PAUSE_S
