"""Somebody else's programs at the message brokers: they send to sources and listen to sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import aio_pika
import nats
import stomp
from paho.mqtt import publish
from paho.mqtt.client import CallbackAPIVersion, Client

from lockstep.siddhiql import ast
from tests.older_apps.playing.repointing import Places

CONNECT_S: Final = 10.0
BROKERS: Final = frozenset({"mqtt", "jms", "rabbitmq", "nats"})

Got = Callable[[bytes], None]
Stop = Callable[[], Awaitable[None]]


async def send(kind: str, places: Places, source: ast.Annotation, payload: bytes) -> None:
    """A message to where the source looks."""
    if kind == "mqtt":
        assert places.mqtt is not None
        topic = (source.get("topic") or "").split(",")[0]
        await asyncio.to_thread(
            publish.single, topic, payload, qos=1, hostname="127.0.0.1", port=places.mqtt
        )
    elif kind == "nats":
        assert places.nats is not None
        client = await nats.connect(places.nats)
        await client.jetstream().publish(source.get("destination") or "", payload)
        await client.close()
    elif kind == "jms":
        await asyncio.to_thread(_sent_by_stomp, places, _destination(source), payload)
    else:
        assert places.amqp is not None
        connection = await aio_pika.connect(places.amqp, timeout=CONNECT_S)
        async with connection:
            exchange = await _exchange(await connection.channel(), source)
            await exchange.publish(aio_pika.Message(payload), source.get("routing.key") or "")


async def listen(kind: str, places: Places, sink: ast.Annotation, got: Got) -> Stop:
    """Hears all that the sink says from now on; gives what ends it."""
    if kind == "mqtt":
        return await asyncio.to_thread(_heard_by_mqtt, places, sink.get("topic") or "", got)
    if kind == "jms":
        return await asyncio.to_thread(_heard_by_stomp, places, _destination(sink), got)
    if kind == "nats":
        return await _heard_by_nats(places, sink.get("destination") or "", got)
    assert places.amqp is not None
    connection = await aio_pika.connect(places.amqp, timeout=CONNECT_S)
    channel = await connection.channel()
    queue = await channel.declare_queue(exclusive=True)
    await queue.bind(await _exchange(channel, sink), sink.get("routing.key") or "")

    async def take(message: Any) -> None:
        got(message.body)

    await queue.consume(take, no_ack=True)

    async def stop() -> None:
        await connection.close()

    return stop


async def keep(places: Places, mark: str, subjects: Iterable[str]) -> None:
    """A stream of JetStream for an app, as servers of NATS Streaming kept what came."""
    assert places.nats is not None
    client = await nats.connect(places.nats)
    await client.jetstream().add_stream(name=mark, subjects=sorted(set(subjects)))
    await client.close()


async def _heard_by_nats(places: Places, subject: str, got: Got) -> Stop:
    assert places.nats is not None
    client = await nats.connect(places.nats)

    async def take(message: Any) -> None:
        got(message.data)

    await client.subscribe(subject, cb=take)

    async def stop() -> None:
        await client.close()

    return stop


async def _exchange(channel: Any, annotation: ast.Annotation) -> Any:
    """The one that both sides declare alike."""
    return await channel.declare_exchange(
        annotation.get("exchange.name") or "",
        (annotation.get("exchange.type") or "direct").lower(),
        durable=(annotation.get("exchange.durable.enabled") or "").lower() == "true",
        auto_delete=(annotation.get("exchange.autodelete.enabled") or "").lower() == "true",
    )


def _destination(annotation: ast.Annotation) -> str:
    kind = (annotation.get("connection.factory.type") or "queue").lower()
    return f"/{kind}/{annotation.get('destination')}"


def _stomp(places: Places) -> Any:
    server = places.stomp
    assert server is not None
    connection = stomp.Connection12([("127.0.0.1", server.port)], vhost="/")
    return connection, (server.user, server.password)


def _sent_by_stomp(places: Places, destination: str, payload: bytes) -> None:
    connection, login = _stomp(places)
    connection.connect(*login, wait=True)
    connection.send(destination, payload.decode())
    connection.disconnect()


def _heard_by_stomp(places: Places, destination: str, got: Got) -> Stop:
    class Listener(stomp.ConnectionListener):  # type: ignore[misc]
        def on_message(self, frame: Any) -> None:
            body = frame.body
            got(body.encode() if isinstance(body, str) else body)

    connection, login = _stomp(places)
    connection.set_listener("outside", Listener())
    connection.connect(*login, wait=True)
    connection.subscribe(destination, id=1, ack="auto")

    async def stop() -> None:
        await asyncio.to_thread(connection.disconnect)

    return stop


def _heard_by_mqtt(places: Places, topic: str, got: Got) -> Stop:
    assert places.mqtt is not None
    client = Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _client, _data, message: got(message.payload)
    client.on_connect = lambda its, *_: its.subscribe(topic, qos=1)
    client.connect("127.0.0.1", places.mqtt)
    client.loop_start()

    async def stop() -> None:
        client.disconnect()
        await asyncio.to_thread(client.loop_stop)

    return stop
