"""Transports that came later: MQTT 5, streams of Redis, queues of SQS, events of a server,
syslog."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import redis.asyncio
from botocore.exceptions import BotoCoreError, ClientError
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from redis.exceptions import RedisError, ResponseError

from lockstep.embedded.server import HOST
from tests.contract.connectors.mosquitto import NEVER_S
from tests.contract.connectors.mosquitto import client as mqtt_client
from tests.contract.connectors.redis_peer import PASSWORD, USER, RedisFar
from tests.contract.connectors.sqs_peer import SqsFar, SqsReceiving
from tests.contract.connectors.sse_server import EventServer
from tests.e2e.connectors_counting import of_events
from tests.e2e.connectors_sender import AGAIN, ANSWER_S, CLOCK, Sender, body
from tests.e2e.connectors_senders import Noting
from tests.e2e.connectors_transport import (
    Around,
    Arrivals,
    Family,
    Reader,
    Transport,
    sink,
    source,
)
from tests.s3.server import ACCESS_KEY, SECRET_KEY

MQTT_IN, MQTT_OUT = "in5/given", "out5/ok"
STREAM_IN, STREAM_OUT = "given", "taken"
QUEUE_IN, QUEUE_OUT = "given.fifo", "taken.fifo"
MQTT, STREAMS, SQS, SSE, SYSLOG = "mqtt 5", "redis-stream", "sqs", "sse", "syslog"
ID: Final = "lockstep-id"


def _sources(around: Around) -> Iterator[Transport]:
    if around.places.mqtt is not None:
        yield source(
            MQTT, f"{_mqtt(around)}, topic='{MQTT_IN}', client.id='given5', clean.session='false',"
            " quality.of.service='1'",
        )  # fmt: skip
    yield source(STREAMS, f"{_redis(around)}, stream.name='{STREAM_IN}'")
    yield source(SQS, f"{_queue(around, QUEUE_IN)}, visibility.timeout='3'")
    where = f"http://{HOST}:{around.places.port('events')}/events"
    yield source(SYSLOG, f", transport='tcp', port='{around.doors.syslog}'")
    yield source(SSE, f", receiver.url='{where}', retry.interval='100'")


def _sinks(around: Around) -> Iterator[Transport]:
    if around.places.mqtt is not None:
        yield sink(MQTT, f"{_mqtt(around)}, topic='out5/{{{{name}}}}'")
    # A stream takes anything, and so does a queue.
    yield sink(STREAMS, f"{_redis(around)}, stream.name='{STREAM_OUT}'", refuses=False)
    if around.places.syslog is not None:
        where = f"tcp://{HOST}:{around.places.port('syslog')}"
        yield sink(SYSLOG, f", url='{where}'", refuses=False)
    yield sink(SQS, _queue(around, QUEUE_OUT), refuses=False)


def _mqtt(around: Around) -> str:
    return f", url='tcp://{HOST}:{around.places.port('mqtt')}', protocol.version='5'"


def _redis(around: Around) -> str:
    where = f"redis://{HOST}:{around.places.port('streams')}/0"
    return f", url='{where}', username='{USER}', password='{PASSWORD}'"


def _queue(around: Around, name: str) -> str:
    path = urlsplit(SqsFar(around.places.s3, name).url).path
    return (
        f", queue='http://{HOST}:{around.places.port('s3')}{path}', access.key='{ACCESS_KEY}',"
        f" secret.key='{SECRET_KEY}'"
    )


class Voice(Sender):
    """With quality 1, under an id that stays the same when a number is sent again."""

    again = (*AGAIN, RuntimeError, ValueError)

    def __init__(self, port: int) -> None:
        super().__init__()
        self._client = mqtt_client("far-voice")
        self._client.connect(HOST, port)
        self._client.loop_start()

    async def send(self, number: int) -> None:
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = (ID, f"given-{number}")
        told = self._client.publish(MQTT_IN, body(number), qos=1, properties=properties)
        async with asyncio.timeout(ANSWER_S):
            while not told.is_published():
                await CLOCK.sleep_ms(10)

    async def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class Ear:
    """All that comes to a topic, in a session that the broker keeps."""

    def __init__(self, port: int) -> None:
        self._got: list[tuple[str, str]] = []
        self._client = made = mqtt_client("far-ear")
        subscribed = threading.Event()
        made.on_connect = lambda *_: made.subscribe(MQTT_OUT, qos=1)
        made.on_subscribe = lambda *_: subscribed.set()
        made.on_message = lambda _c, _u, message: self._take(message)
        kept = Properties(PacketTypes.CONNECT)
        kept.SessionExpiryInterval = NEVER_S
        made.connect(HOST, port, clean_start=False, properties=kept)
        made.loop_start()
        assert subscribed.wait(ANSWER_S), "nobody at the broker"

    def __call__(self) -> Arrivals:
        return of_events(list(self._got))

    def end(self) -> None:
        """Listens no more."""
        self._client.disconnect()
        self._client.loop_stop()

    def _take(self, message: Any) -> None:
        pairs = dict(getattr(message.properties, "UserProperty", ()))
        self._got.append((pairs.get(ID, ""), message.payload.decode()))


class Adding(Sender):
    """Entries under numbers of our own: one that is added again is refused by the stream."""

    again = (*AGAIN, RedisError)

    def __init__(self, far: RedisFar) -> None:
        super().__init__()
        self._client: redis.asyncio.Redis = far.client()
        self._number: int | None = None
        self._entry = 0

    async def send(self, number: int) -> None:
        if number != self._number:
            self._number = number
            self._entry += 1
        try:
            await self._client.xadd(STREAM_IN, {"payload": body(number)}, id=f"1-{self._entry}")
        except ResponseError as error:
            if "equal or smaller" not in str(error):
                raise

    async def close(self) -> None:
        await self._client.aclose()


class Queueing(Sender):
    """Under an id for duplicates, which the queue drops."""

    again = (*AGAIN, BotoCoreError, ClientError)

    def __init__(self, far: SqsFar) -> None:
        super().__init__()
        self._far = far

    async def send(self, number: int) -> None:
        await asyncio.to_thread(
            self._far.client.send_message, QueueUrl=self._far.url,
            MessageBody=body(number).decode(), MessageGroupId="g",
            MessageDeduplicationId=f"given-{number}",
        )  # fmt: skip


class Telling(Sender):
    """To a server of events, which keeps in a file what it was told. Where the answer did not come,
    the file says whether it was."""

    def __init__(self, server: EventServer, file: Path) -> None:
        super().__init__()
        self._url = f"http://{HOST}:{server.port}/push"
        self._file = file
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S))

    async def send(self, number: int) -> None:
        message = body(number)
        if self._file.exists() and self._file.read_bytes().splitlines()[-1:] == [message]:
            return
        async with self._session.post(self._url, data=message) as response:
            if response.status != 200:
                raise OSError(f"{self._url} answered {response.status}")

    async def close(self) -> None:
        await self._session.close()


async def of_queue(far: SqsReceiving) -> Arrivals:
    """All that the sink has sent so far, taken out."""
    got = await far.received()
    return of_events((one.id or "", one.payload.decode()) for one in got)


async def of_streams(far: RedisFar) -> Arrivals:
    """All that the sink has added."""
    entries = await far.entries(STREAM_OUT)
    return of_events((one[ID].decode(), one["payload"].decode()) for one in entries)


def _senders(around: Around) -> Mapping[str, Sender]:
    places = around.places
    found: dict[str, Sender] = {
        STREAMS: Adding(places.streams.broker),
        SQS: Queueing(SqsFar(places.s3, QUEUE_IN)),
        SYSLOG: Noting(around.doors.syslog),
        SSE: Telling(places.events.broker, places.folder / "events/events"),
    }
    if around.places.mqtt is not None:
        found[MQTT] = Voice(around.places.mqtt.port)
    return found


def _readers(around: Around) -> Mapping[str, Reader]:
    far, mqtt = around.places.streams.broker, around.places.mqtt
    queue = SqsReceiving(around.places.s3, QUEUE_OUT)
    found: dict[str, Reader] = {
        STREAMS: lambda: of_streams(far),
        SQS: lambda: of_queue(queue),
    }
    if (syslog := around.places.syslog) is not None:
        server = syslog.broker
        found[SYSLOG] = lambda: of_events(("", one.text.strip()) for one in server.taken())
    if mqtt is not None:
        found[MQTT] = ear = Ear(mqtt.port)
        around.ending.callback(ear.end)
    return found


LATER: Final = Family(_sources, _sinks, _senders, _readers)
