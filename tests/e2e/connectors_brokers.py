"""RabbitMQ in AMQP, and as a broker with JMS in STOMP: who sends there, and what has come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

import aio_pika
import stomp
from aio_pika.abc import AbstractIncomingMessage

from lockstep.connectors.rabbitmq.connection import LOST, closed
from lockstep.embedded.server import HOST
from tests.e2e.connectors_counting import of_events
from tests.e2e.connectors_places import GUEST, Rabbit
from tests.e2e.connectors_sender import AGAIN, ANSWER_S, Sender, body
from tests.e2e.connectors_transport import (
    POISON,
    Around,
    Arrivals,
    Family,
    Reader,
    Transport,
    sink,
    source,
)

IN, OUT, REFUSING = "given", "taken", "refusing"
"""Exchanges, and queues of the same names; what comes to the last one is refused."""
JMS_IN, JMS_OUT = "jms-given", "jms-taken"
AWAY: Final = (*AGAIN, *LOST, RuntimeError)
"""The last one: the client of AMQP, of a connection that was closed."""


def _sources(around: Around) -> Iterator[Transport]:
    if around.places.rabbit is not None:
        yield source("rabbitmq", f"{_exchange(around, IN)}, routing.key='{IN}', queue.name='{IN}'")
        yield source("jms", f"{_door(around)}, destination='{JMS_IN}'")


def _sinks(around: Around) -> Iterator[Transport]:
    if around.places.rabbit is not None:
        yield sink("rabbitmq", f"{_exchange(around, OUT)}, routing.key='{{{{name}}}}'")
        # The broker refuses no name of a queue: it ends the connection.
        yield sink("jms", f"{_door(around)}, destination='{JMS_OUT}'", refuses=False)


def _exchange(around: Around, name: str) -> str:
    where = f"amqp://{GUEST}:{GUEST}@{HOST}:{around.places.port('amqp')}/"
    return f", uri='{where}', exchange.name='{name}', exchange.durable.enabled='true'"


def _door(around: Around) -> str:
    return (
        f", provider.url='tcp://{HOST}:{around.places.port('stomp')}',"
        f" connection.username='{GUEST}', connection.password='{GUEST}'"
    )


async def _prepare(around: Around) -> None:
    rabbit = around.places.rabbit
    if rabbit is None:
        return
    async with await aio_pika.connect(rabbit.url, timeout=ANSWER_S) as connection:
        channel = await connection.channel()
        exchanges = {name: await channel.declare_exchange(name, durable=True) for name in (IN, OUT)}
        bound = ((IN, IN, IN), (OUT, OUT, "ok"), (OUT, REFUSING, POISON))
        for exchange, name, key in bound:
            arguments = FULL if name == REFUSING else {}
            queue = await channel.declare_queue(name, durable=True, arguments=arguments)
            await queue.bind(exchanges[exchange], key)
        for name in (JMS_IN, JMS_OUT):
            await channel.declare_queue(name, durable=True)


FULL: Final[dict[str, Any]] = {"x-max-length": 0, "x-overflow": "reject-publish"}
"""Of a queue that has no room for anything."""


class AmqpPublishing(Sender):
    """Kept on disk and confirmed, under an id."""

    again = AWAY

    def __init__(self, rabbit: Rabbit) -> None:
        super().__init__()
        self._url = rabbit.url
        self._connection: Any = None
        self._exchange: Any = None

    async def send(self, number: int) -> None:
        message = aio_pika.Message(
            body(number),
            message_id=f"given-{number}",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        try:
            if self._connection is None:
                self._connection = await aio_pika.connect(self._url, timeout=ANSWER_S)
                channel = await self._connection.channel(publisher_confirms=True)
                self._exchange = await channel.get_exchange(IN)
            await self._exchange.publish(message, IN, timeout=ANSWER_S)
        except AWAY:
            await self.close()
            raise

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await closed(connection)


class StompSending(Sender, stomp.ConnectionListener):  # type: ignore[misc]
    """Kept on disk, with a receipt, under an id."""

    again = (*AGAIN, stomp.exception.StompException)

    def __init__(self, rabbit: Rabbit) -> None:
        super().__init__()
        self._port = rabbit.stomp
        self._connection: Any = None
        self._loop = asyncio.get_running_loop()
        self._receipt: tuple[str, asyncio.Future[None]] | None = None

    async def send(self, number: int) -> None:
        receipt = f"given-{number}"
        headers = {"receipt": receipt, "lockstep-id": receipt, "persistent": "true"}
        told = self._loop.create_future()
        self._receipt = receipt, told
        try:
            if self._connection is None:
                self._connection = await asyncio.to_thread(self._connected)
            await asyncio.to_thread(
                self._connection.send, f"/queue/{JMS_IN}", body(number), None, headers
            )
            async with asyncio.timeout(ANSWER_S):
                await told
        except self.again:
            await self.close()
            raise

    def _connected(self) -> Any:
        connection = stomp.Connection12(
            [(HOST, self._port)], reconnect_attempts_max=1, timeout=ANSWER_S, vhost="/"
        )
        connection.set_listener("far", self)
        connection.connect(GUEST, GUEST, wait=True)
        return connection

    def on_receipt(self, frame: Any) -> None:
        """On the client's thread."""
        receipt = self._receipt
        if receipt is not None and frame.headers.get("receipt-id") == receipt[0]:
            self._loop.call_soon_threadsafe(_tell, receipt[1])

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and connection.is_connected():
            await asyncio.to_thread(connection.disconnect)


def _tell(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


class Drained:
    """All that a queue has given so far. It is taken out of it, so that a look is short."""

    def __init__(self, rabbit: Rabbit, queue: str, header: str = "") -> None:
        self._rabbit = rabbit
        self._queue = queue
        self._header = header
        self._found: Arrivals = []

    async def __call__(self) -> Arrivals:
        async with await aio_pika.connect(self._rabbit.url, timeout=ANSWER_S) as connection:
            channel = await connection.channel()
            queue = await channel.declare_queue(self._queue, durable=True)
            while (message := await queue.get(fail=False)) is not None:
                self._found += of_events([(self._identity(message), message.body.decode())])
                await message.ack()
        return list(self._found)

    def _identity(self, message: AbstractIncomingMessage) -> str:
        own = message.headers.get(self._header) if self._header else message.message_id
        return str(own or "")


def _senders(around: Around) -> Mapping[str, Sender]:
    rabbit = around.places.rabbit
    if rabbit is None:
        return {}
    return {"rabbitmq": AmqpPublishing(rabbit), "jms": StompSending(rabbit)}


def _readers(around: Around) -> Mapping[str, Reader]:
    rabbit = around.places.rabbit
    if rabbit is None:
        return {}
    return {
        "rabbitmq": Drained(rabbit, OUT),
        "jms": Drained(rabbit, JMS_OUT, "lockstep-id"),
    }


BROKERS: Final = Family(_sources, _sinks, _senders, _readers, _prepare)
