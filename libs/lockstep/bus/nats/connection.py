"""One connection to NATS that comes back by itself.

Who waits for an answer learns at once when it is lost; subscriptions outlive it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from lockstep.bus.errors import BusRefusedError
from lockstep.bus.limits import BusLimits
from lockstep.bus.nats.address import Address
from lockstep.bus.nats.answers import Answers
from lockstep.bus.nats.dialing import RECONNECT_EVERY_MS, Callbacks, dial, hang_up
from lockstep.bus.nats.errors import (
    MessageTooLargeError,
    NobodyAnswersError,
    NotConnectedError,
    translated,
)
from lockstep.bus.nats.farewells import Farewells, Owed
from lockstep.bus.nats.rights import Rights
from lockstep.bus.nats.serving import Serving
from lockstep.bus.nats.troubles import Troubles
from lockstep.bus.subjects import refuse_unfit
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

Handler = Callable[[Msg], Awaitable[None]]

_HEALTH_TIMEOUT_MS: Final = 1_000
_STORES_TOGETHER: Final = (2, 12)  # servers that can, from this version
_DRAIN_TIMEOUT_MS: Final = 2_000
_BEFORE_HEADERS_BYTES: Final = 12  # the line that begins them, and the one that ends them
_HEADERS_MARGIN_BYTES: Final = 2_048  # the server counts headers towards its limit


@dataclass
class Listening:
    """A subscription that is made again on every new client."""

    subject: str
    queue: str
    handler: Handler
    current: Subscription | None = field(default=None)
    owed: Owed | None = None
    ended: bool = False

    async def begin(self, client: Client) -> None:
        """On this client. UnavailableError."""
        with translated(self.subject):
            self.current = await client.subscribe(self.subject, queue=self.queue, cb=self.handler)
        if self.ended:  # somebody let go of it meanwhile
            await self.end()

    async def end(self) -> None:
        """For good; idempotent."""
        self.ended = True
        if self.owed is not None:
            self.owed.detach()
        if self.current is not None:
            with contextlib.suppress(nats.errors.Error):
                await self.current.unsubscribe()


class Connection:
    """Use `open`. All methods raise UnavailableError when the server is away."""

    def __init__(self, address: Address, limits: BusLimits, name: str) -> None:
        self.address = address
        self.limits = limits
        self.serving = Serving()
        self.farewells = Farewells()
        self.generation = 0  # counts the times when something in flight may have been lost
        self._name = name
        self._log = get_logger()
        self._client = Client()
        self._listening: dict[int, Listening] = {}
        self._keys = itertools.count()
        self._answers = Answers()
        self._troubles = Troubles(address.shown)
        self._closing = False
        self._restoring: asyncio.Task[None] | None = None

        def missed() -> None:
            self.generation += 1

        self._rights = Rights(self._troubles, self._answers, lambda: self._client, missed)

    @classmethod
    async def open(cls, address: Address, limits: BusLimits, name: str) -> Connection:
        """Connected within the limit. Errors: UnavailableError, BusRefusedError."""
        connection = cls(address, limits, name)
        await connection._connect()
        answers = connection._answers
        answers.inbox = f"_INBOX.{connection.new_inbox().rpartition('.')[2]}"
        try:
            await connection.subscribe(answers.pattern, answers.take)
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def max_payload_bytes(self) -> int:
        """What the server takes in one message, headers left aside."""
        return max(0, self.max_message_bytes - _HEADERS_MARGIN_BYTES)

    @property
    def max_message_bytes(self) -> int:
        """What the server takes in one message with its headers."""
        return self._client.max_payload

    @property
    def server(self) -> str:
        """Where we are connected to, or were last."""
        url = self._client.connected_url
        return "" if url is None else f"{url.hostname}:{url.port}"

    @property
    def has_jetstream(self) -> bool:
        """Whether the server says that it keeps streams; others of its cluster may."""
        return bool(self._client._server_info.get("jetstream"))

    @property
    def stores_together(self) -> bool:
        """Whether the server stores several messages as one, where a stream allows it."""
        version = self._client.connected_server_version
        return (version.major, version.minor) >= _STORES_TOGETHER

    def new_inbox(self) -> str:
        """A subject nobody else uses."""
        return self._client.new_inbox()

    async def publish(
        self,
        subject: str,
        payload: bytes,
        *,
        reply: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Hands the message to the connection; at most once. Errors also: InvalidNameError."""
        refuse_unfit(subject)
        self.check()
        size_bytes = len(payload) + _size_bytes(headers)
        if size_bytes > self.max_message_bytes:
            raise MessageTooLargeError(size_bytes, self.max_message_bytes, where=subject)
        with translated(subject):
            await self._client.publish(
                subject, payload, reply=reply, headers=dict(headers) if headers else None
            )

    async def request(
        self,
        subject: str,
        payload: bytes,
        *,
        timeout_ms: int,
        headers: Mapping[str, str] | None = None,
    ) -> Msg:
        """One answer; UnavailableError as soon as it cannot come any more."""
        message = await self._answers.exchange(
            subject,
            lambda reply: self.publish(subject, payload, reply=reply, headers=headers),
            timeout_ms=timeout_ms,
        )
        if message.headers and message.headers.get("Status") == "503":
            raise NobodyAnswersError("nobody answers", where=subject)
        return message

    async def subscribe(
        self, subject: str, handler: Handler, *, queue: str = "", owner: object = None
    ) -> int:
        """A key for `unsubscribe`; survives reconnects and new clients. On return the server knows
        of it: what others send from then on comes. With an owner it ends, too, once nobody has
        that one; so the handler must not have it either. Errors also: InvalidNameError."""
        refuse_unfit(subject)
        refuse_unfit(queue)
        self.check()
        key = next(self._keys)
        listening = Listening(subject, queue, handler)
        async with contextlib.AsyncExitStack() as failed:
            failed.push_async_callback(self.unsubscribe, key)
            self._listening[key] = listening
            await listening.begin(self._client)
            await self._round_trip(subject, self.limits.publish_timeout_ms)
            self._rights.check(listening.current)
            failed.pop_all()
        if owner is not None:
            listening.owed = self.farewells.owe(owner, partial(self.unsubscribe, key))
        return key

    async def unsubscribe(self, key: int) -> None:
        """Ends it; idempotent, also while the server is away."""
        listening = self._listening.pop(key, None)
        if listening is not None:
            await listening.end()

    async def drain(self, key: int) -> None:
        """As `unsubscribe`, but the server knows of it on return, and the handler has had all that
        was sent to it before; as far as the server answers in time."""
        listening = self._listening.get(key)
        try:
            if listening is not None and listening.current is not None:
                with contextlib.suppress(UnavailableError), translated(listening.subject):
                    async with asyncio.timeout(_DRAIN_TIMEOUT_MS / 1000):
                        self.check()
                        # Not the library's own: one that fails midway is subscribed to again.
                        await self._client._send_unsubscribe(listening.current._id)
                        await self._round_trip(listening.subject, _DRAIN_TIMEOUT_MS)
                        await listening.current._pending_queue.join()
        finally:
            await self.unsubscribe(key)

    async def unserved(self, asked_at: float) -> None:
        """Something asked of the cluster at that time, on the loop's clock, was not answered, or
        not well: perhaps the server is left for another one."""
        leave = self.serving.should_leave(asked_at, asyncio.get_running_loop().time())
        if leave and len(self.address.servers) > 1:
            self._log.warning("a bus server that serves nothing is left", server=self.address.shown)
            await self._client.force_reconnect()

    async def healthy(self) -> bool:
        """The server and its JetStream answer now."""
        try:
            answer = await self.request("$JS.API.INFO", b"", timeout_ms=_HEALTH_TIMEOUT_MS)
        except UnavailableError:
            return False
        return b'"error"' not in answer.data

    async def close(self) -> None:
        """Sends what is pending, as far as the server is there, and disconnects; idempotent."""
        if self._closing:
            return
        self._closing = True
        if self._restoring is not None:
            self._restoring.cancel()
        self._rights.close()
        self.farewells.close()
        self._lost("the bus was closed")
        await hang_up(self._client)

    def check(self) -> None:
        """NotConnectedError while the server is away."""
        # A message handed to a client that is reconnecting would be sent later, when its sender has
        # long given it up.
        if not self._client.is_connected:
            raise self._troubles.error("the bus cannot be reached")

    async def _connect(self) -> None:
        """A new client; what its predecessors still say is not heard."""
        dialled: list[Client] = []
        now_s = asyncio.get_running_loop().time

        async def disconnected() -> None:
            if not self._closing and dialled == [self._client]:
                self._log.warning("the bus is away", server=self.address.shown)
                self._lost("the connection to the bus was lost")

        async def reconnected() -> None:
            self.generation += 1
            self._troubles.ended()
            self.serving.arrived(now_s())
            self._log.info("the bus is back", server=self.address.shown)

        async def closed() -> None:
            # The client library gives a connection up for good on some errors of the server.
            if not self._closing and dialled == [self._client]:
                self._restoring = asyncio.get_running_loop().create_task(self._restore())

        def failed(error: Exception) -> None:
            self._troubles.heard(error, now_s())
            if dialled == [self._client]:
                self._rights.heard(error, now_s())

        callbacks = Callbacks(disconnected, reconnected, closed, failed)
        self._client = await dial(self.address, self.limits, self._name, callbacks)
        dialled.append(self._client)
        self._rights.forget()
        self._troubles.ended()
        self.serving.arrived(now_s())

    async def _round_trip(self, where: str, timeout_ms: int) -> None:
        """On return the server has done all that was asked of it before: it takes in order what
        one connection sends, and here a message to ourselves has come back."""
        await self._answers.exchange(
            where, lambda inbox: self.publish(inbox, b""), timeout_ms=timeout_ms
        )

    def _lost(self, why: str) -> None:
        self.generation += 1
        self._answers.lost(lambda: NotConnectedError(why, where=self.address.shown))

    async def _restore(self) -> None:
        self._lost("the connection to the bus was lost")
        for listening in self._listening.values():
            listening.current = None
        while True:
            try:
                if self._client.is_closed:
                    await self._connect()
                for listening in list(self._listening.values()):
                    if listening.current is None:
                        await listening.begin(self._client)
            except (UnavailableError, BusRefusedError) as error:
                self._troubles.away(error, asyncio.get_running_loop().time())
                await asyncio.sleep(RECONNECT_EVERY_MS / 1000)
            else:
                self.generation += 1
                self._log.info("the bus is back", server=self.address.shown)
                return


def _size_bytes(headers: Mapping[str, str] | None) -> int:
    """As the server counts them."""
    if not headers:
        return 0
    lines = (f"{name}: {value}\r\n" for name, value in headers.items())
    return _BEFORE_HEADERS_BYTES + sum(len(line.encode()) for line in lines)
