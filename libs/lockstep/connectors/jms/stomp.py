"""JMS over STOMP: a client's own thread, its calls brought to the event loop. Errors: OSError.

Source: `client-individual` acknowledgement when the log has the message; queues and durable
subscriptions give it again otherwise, under its message id. Sink: the broker's receipt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final

import stomp

from lockstep.clock import is_asked_to_end
from lockstep.connectors.endpoints import address_of
from lockstep.connectors.jms import PORTS
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Inbox, Place, Received, Source

HEARTBEAT_MS: Final = 10_000
TIMEOUT_S: Final = 10.0
PREFETCH: Final = 256
DRAIN_S: Final = 0.05
THREADS: Final = 16
"""Of one connection, at most."""
REFUSALS: Final = (
    "destination", "access refused", "access_refused", "not found", "not_found", "not authorized",
)  # fmt: skip
"""Of what brokers say, what is the message's fault."""
LOST: Final = (stomp.exception.StompException, AttributeError)
"""What the client raises when the broker goes: in the midst of a call it has no socket any more."""


def _address(options: Mapping[str, str]) -> tuple[str, int]:
    """Of the broker. ValueError where it is none."""
    return address_of("provider.url", options["provider.url"], PORTS)


def _destination(options: Mapping[str, str], name: str) -> str:
    kind = options.get("connection.factory.type", "queue").lower()
    return name if name.startswith("/") else f"/{kind}/{name}"


class _Threads:
    """Where the calls of one connection wait for the broker: a silent one holds up nobody else."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, call: Callable[[], Any]) -> Any:
        """In one of them. OSError where they are ended meanwhile."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="jms")
        waiting = self._pool.submit(call)
        try:
            return await asyncio.wrap_future(waiting)
        except asyncio.CancelledError:
            if is_asked_to_end():
                raise
            raise OSError("the connection to the broker was closed meanwhile") from None

    def end(self) -> None:
        """What still waits ends with its socket."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


async def _connected(
    options: Mapping[str, str],
    listener: stomp.ConnectionListener,
    headers: Mapping[str, str],
    threads: _Threads,
) -> Any:
    address = _address(options)
    connection = stomp.Connection12(
        [address], heartbeats=(HEARTBEAT_MS, HEARTBEAT_MS), reconnect_attempts_max=1,
        timeout=TIMEOUT_S, auto_decode=False, vhost="/",
    )  # fmt: skip
    connection.set_listener("lockstep", listener)
    login = options.get("connection.username"), options.get("connection.password")
    at = f"the broker at {address[0]}:{address[1]}"

    def connect() -> None:
        connection.connect(*login, headers=dict(headers))
        # It looks every second whether its socket was taken away; the limit is ours.
        connection.transport.wait_for_connection(TIMEOUT_S)

    answered = False
    try:
        async with asyncio.timeout(2 * TIMEOUT_S):  # a socket, and an answer
            await threads.run(connect)
            answered = True
    except TimeoutError as error:
        raise OSError(f"{at} has not answered within {2 * TIMEOUT_S:.0f} s") from error
    except (*LOST, ValueError) as error:  # a host of a secret may be no name
        raise OSError(f"{at} is away: {error!r}") from error
    finally:
        if not answered:
            connection.remove_listener("lockstep")
            connection.transport.disconnect_socket()
    return connection


class JmsSource(Source, stomp.ConnectionListener):  # type: ignore[misc]
    """Options: `provider.url`, `destination`, `connection.factory.type` (queue) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        durable = options.get("transport.jms.SubscriptionDurable", "").lower() == "true"
        self._name = options.get("transport.jms.DurableSubscriberClientID") if durable else None
        self._loop = asyncio.get_running_loop()
        self._inbox = Inbox()
        self._threads = _Threads()
        self._connection: Any = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._connection is None:
            client = {} if self._name is None else {"client-id": self._name}
            self._connection = await _connected(self._options, self, client, self._threads)
            more = {"prefetch-count": str(PREFETCH), "activemq.prefetchSize": str(PREFETCH)}
            if self._name is not None:
                more |= {"activemq.subscriptionName": self._name, "durable": "true"}
                more |= {"auto-delete": "false", "durable-subscription-name": self._name}
            self._connection.subscribe(
                _destination(self._options, self._options["destination"]),
                id=self._name or "lockstep",
                ack="client-individual",
                headers=more,
            )
        return await self._inbox.take(max_messages, wait_ms)

    def on_message(self, frame: Any) -> None:
        """On the client's thread, which waits while the inbox is full."""
        headers = {str(name): str(value) for name, value in frame.headers.items()}
        body = frame.body if isinstance(frame.body, bytes) else str(frame.body).encode()
        mark, connection = headers.get("ack", ""), self._connection

        async def acknowledge() -> None:
            with contextlib.suppress(stomp.exception.StompException):  # it comes again
                if connection is not None and connection is self._connection:
                    await self._threads.run(partial(connection.ack, mark))

        if "content-type" in headers:
            headers["Content-Type"] = headers["content-type"]
        # Brokers number the messages that they give anew, unless the sender has an id of its own.
        own = headers.get("lockstep-id")
        self._wait(self._inbox.put(Received(body, headers, own, acknowledge)))

    def on_error(self, frame: Any) -> None:
        self._wait(self._inbox.fail(OSError(f"the broker says: {frame.headers.get('message')}")))

    def on_disconnected(self) -> None:
        if self._connection is not None:
            self._wait(self._inbox.fail(OSError("the connection to the broker is lost")))

    def _wait(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def close(self) -> Sequence[Received]:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.remove_listener("lockstep")
            closing = asyncio.ensure_future(_left(connection, self._threads))
            while not closing.done():
                await asyncio.wait([closing], timeout=DRAIN_S)
                self._inbox.left()
        self._threads.end()
        return ()


class JmsSink(Sink, stomp.ConnectionListener):  # type: ignore[misc]
    """Options: `provider.url`, `destination`, `connection.factory.type` (queue) …

    Each message bears the output's identity in the header `lockstep-id`.
    """

    in_flight: ClassVar[int] = 16

    def __init__(self, options: Mapping[str, str]) -> None:
        _address(options)
        self._options = options
        self._connection: Any = None
        self._opening = asyncio.Lock()
        self._threads = _Threads()
        self._receipts: dict[str, asyncio.Future[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._suspects = 0
        self._alone = asyncio.Lock()

    async def send(self, message: Message) -> None:
        self._loop = asyncio.get_running_loop()
        if not self._suspects:
            await self._sent(message)
            return
        async with self._alone:
            try:
                await self._sent(message)
                self._suspects = max(0, self._suspects - 1)
            except MessageRefusedError:
                self._suspects = 0
                raise

    async def _sent(self, message: Message) -> None:
        assert self._loop is not None
        connection = await self._opened()
        receipt: asyncio.Future[None] = self._loop.create_future()
        self._receipts[message.id] = receipt
        destination = _destination(self._options, message.fill(self._options["destination"]))
        headers = {"receipt": message.id, "lockstep-id": message.id, "persistent": "true"}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                given = message.payload, message.content_type, headers
                await self._threads.run(partial(connection.send, destination, *given))
                await receipt
        except LOST as error:
            await self.close()
            raise OSError(f"the broker is away: {error!r}") from error
        except (OSError, MessageRefusedError):
            await self.close()
            raise
        finally:
            self._receipts.pop(message.id, None)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._connection is None:
                self._connection = await _connected(self._options, self, {}, self._threads)
            return self._connection

    def on_receipt(self, frame: Any) -> None:
        self._settle(frame.headers.get("receipt-id", ""), None)

    def on_error(self, frame: Any) -> None:
        """It ends the connection, and few brokers name the message. So those under way go again one
        by one: who then is alone is at fault."""
        why, waiting = f"the broker says: {frame.headers.get('message')}", list(self._receipts)
        named = frame.headers.get("receipt-id") or (waiting[0] if len(waiting) == 1 else "")
        if any(word in why.lower() for word in REFUSALS):
            self._suspects = 0 if named else len(waiting)
            self._settle(named, MessageRefusedError(why))
        self._all(why)

    def on_disconnected(self) -> None:
        self._all("the connection to the broker is lost")

    def _all(self, why: str) -> None:
        for name in list(self._receipts):
            self._settle(name, OSError(why))

    def _settle(self, name: str, error: Exception | None) -> None:
        waiting, loop = self._receipts.get(name), self._loop
        if waiting is None or loop is None:
            return

        def settle() -> None:
            if not waiting.done():
                waiting.set_exception(error) if error else waiting.set_result(None)

        loop.call_soon_threadsafe(settle)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        # Of many that fail at once each closes: the threads go with the connection, by one of them.
        threads, self._threads = self._threads, _Threads()
        if connection is not None:
            connection.remove_listener("lockstep")
            await _left(connection, threads)
        threads.end()


async def _left(connection: Any, threads: _Threads) -> None:
    """In good order; the socket of a broker that takes nothing is taken away, which ends what waits
    for it on threads."""
    is_left = False
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await threads.run(partial(_disconnect, connection))
        is_left = True
    except TimeoutError:
        pass
    finally:
        if not is_left:
            connection.transport.disconnect_socket()


def _disconnect(connection: Any) -> None:
    if connection.is_connected():
        connection.disconnect()
