"""RabbitMQ, spoken to in AMQP and, as a broker with JMS, in STOMP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import SystemClock
from lockstep.sinks import MessageRefusedError, Sink
from lockstep.sources import Place, Received, Source
from lockstep.testing.connectors import message, play_sink, play_source
from tests.contract.connectors.brokers import Broker, rabbitmq

try:
    import aio_pika

    from lockstep.connectors.jms.stomp import JmsSink, JmsSource
    from lockstep.connectors.rabbitmq.sink import RabbitSink
    from lockstep.connectors.rabbitmq.source import RabbitSource
except ImportError:
    HAS_CLIENTS = False
else:
    HAS_CLIENTS = True

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """A broker that keeps durable queues over its death."""
    if not HAS_CLIENTS:
        pytest.skip("the extra 'connectors' is not installed")
    made = rabbitmq(tmp_path)
    yield made
    await made.stop()


class Far:
    """The broker with a client of ours at its other end."""

    def __init__(
        self, broker: Broker, source: Callable[[], Source], sink: Callable[[], Sink]
    ) -> None:
        self._broker, self._make_source, self._make_sink = broker, source, sink
        self._sink: Sink | None = None

    async def start(self) -> None:
        await self._broker.start()
        source = self._make_source()
        await source.read(max_messages=1, wait_ms=1)  # the queue is there
        await source.close()
        self._sink = self._make_sink()

    async def stop(self) -> None:
        if self._sink is not None:
            await self._sink.close()
        await self._broker.stop()

    async def send(self, payload: bytes) -> None:
        assert self._sink is not None
        number = int(payload.split(b":")[1].strip(b"}"))
        await self._sink.send(message(number, payload=payload))

    async def received(self) -> Sequence[bytes]:
        source, found = self._make_source(), []
        while some := await source.read(max_messages=100, wait_ms=500):
            found += [each.payload for each in some]
        await source.close()
        return found


def options(broker: Broker, kind: str) -> dict[str, Any]:
    """Of a durable queue, for AMQP and for STOMP."""
    amqp, stomp, _ = broker.ports
    if kind == "amqp":
        exchange = {"exchange.name": "kit", "exchange.durable.enabled": "true"}
        return {"uri": f"amqp://guest:guest@127.0.0.1:{amqp}/", **exchange}
    login = {"connection.username": "guest", "connection.password": "guest"}
    return {"provider.url": f"tcp://127.0.0.1:{stomp}", "destination": "kit", **login}


@pytest.mark.parametrize("kind", ["amqp", "stomp"])
async def test_nothing_is_lost_over_the_brokers_death_and_ours(broker: Broker, kind: str) -> None:
    """At least once both ways, in order, under the identity that the sink gave."""
    given = options(broker, kind)

    def source() -> Source:
        return RabbitSource(given, PLACE) if kind == "amqp" else JmsSource(given, PLACE)

    def sink() -> Sink:
        return RabbitSink(given) if kind == "amqp" else JmsSink(given)

    far = Far(broker, source, sink)
    sent = await play_sink(sink, far)
    assert (sent.lost, sent.reordered) == (0, 0)
    await far.stop()
    clean = {**given, "queue.name": "other", "destination": "other", "exchange.name": "other"}
    given = clean
    taken = await play_source(source, far)
    await far.stop()
    assert (taken.lost, taken.identified) == (0, True)
    # What was not acknowledged comes again, and what the broker had not written when it died.
    assert taken.duplicated <= 41


@pytest.mark.parametrize("kind", ["amqp", "stomp"])
async def test_what_a_dead_broker_is_not_told_it_gives_again(broker: Broker, kind: str) -> None:
    """An acknowledgement that nobody hears is nothing that fails; the source says that the broker
    is away, and goes on when it is back."""
    given = options(broker, kind)

    def source() -> Source:
        return RabbitSource(given, PLACE) if kind == "amqp" else JmsSource(given, PLACE)

    def sink() -> Sink:
        return RabbitSink(given) if kind == "amqp" else JmsSink(given)

    far = Far(broker, source, sink)
    await far.start()
    await far.send(b'{"n":0}')
    reading = source()
    (first,) = await reading.read(max_messages=10, wait_ms=10_000)
    await far.stop()
    await first.acknowledge()
    with pytest.raises(OSError, match="lost"):
        await reading.read(max_messages=10, wait_ms=30_000)
    await reading.close()
    await first.acknowledge()
    await broker.start()
    again = source()
    (second,) = await again.read(max_messages=10, wait_ms=10_000)
    assert (second.payload, second.id) == (first.payload, first.id)
    await second.acknowledge()
    await again.close()


async def reading_on(source: RabbitSource, count: int = 1) -> list[Received]:
    """So many messages, acknowledged; OSError as soon as the source says that it is lost."""
    found: list[Received] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            for each in await source.read(max_messages=10, wait_ms=1_000):
                await each.acknowledge()
                found.append(each)
    return found


@pytest.mark.parametrize("ending", ["queue", "channel"])
async def test_a_source_says_that_the_broker_gives_it_nothing_more(
    broker: Broker, ending: str
) -> None:
    """Somebody deletes the queue, or the broker ends the channel, as it does with who acknowledges
    too late; the connection lives on. The next source is given all that comes."""
    given = options(broker, "amqp")
    await broker.start()
    sink, source = RabbitSink(given), RabbitSource(given, PLACE)
    assert await source.read(max_messages=1, wait_ms=1) == ()
    await sink.send(message(1))
    await reading_on(source)
    if ending == "queue":
        another = await aio_pika.connect(given["uri"])
        await (await another.channel()).queue_delete(f"lockstep.{PLACE.app}.{PLACE.stream}")
        await another.close()
    else:
        connection: Any = source._connection
        (channel,) = connection.transport.connection.channels.values()
        await channel.basic_ack(999)  # the broker gave no such message
    with pytest.raises(OSError, match=r"RabbitMQ.* is lost"):
        await reading_on(source)
    await source.close()
    again = RabbitSource(given, PLACE)
    assert await again.read(max_messages=1, wait_ms=1) == ()
    await sink.send(message(2))
    (found,) = await reading_on(again)
    assert found.id == message(2).id
    await again.close()
    await sink.close()


async def test_a_name_that_the_broker_refuses_is_that_messages_fault(broker: Broker) -> None:
    """It is told apart from those that were under way with it, and these go through."""
    given = {**options(broker, "stomp"), "destination": "{{name}}"}
    await broker.start()
    sink = JmsSink(given)
    left = {n: replace(message(n), fill=lambda _: "kit") for n in range(1, 6)}
    left[3] = replace(left[3], fill=lambda _: "/nowhere/else")
    refused = []
    async with asyncio.timeout(60):
        while left:
            numbers = list(left)
            told = await asyncio.gather(*map(sink.send, left.values()), return_exceptions=True)
            for number, said in zip(numbers, told, strict=True):
                if not isinstance(said, OSError):
                    del left[number]
                if isinstance(said, MessageRefusedError):
                    refused.append((number, str(said)))
    await sink.close()
    assert [number for number, _ in refused] == [3]
    assert "the broker says" in refused[0][1]
    source = JmsSource({**given, "destination": "kit"}, PLACE)
    found: set[str | None] = set()
    while len(found) < 4:
        found |= {one.id for one in await source.read(max_messages=10, wait_ms=10_000)}
    await source.close()
    assert found == {message(n).id for n in (1, 2, 4, 5)}
