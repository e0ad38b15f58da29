"""The senders of the protocols that were here first."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiohttp
import aiomysql
import asyncpg
import nats
import paho.mqtt.client as paho
import pymysql
from confluent_kafka import KafkaException, Producer

from lockstep.connectors.hl7.mllp import block, read_block
from lockstep.connectors.tcp.frames import frame
from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.embedded.server import HOST
from tests.e2e.connectors_app import CHANGED, KAFKA_IN, MAILS, NATS_IN
from tests.e2e.connectors_places import Places
from tests.e2e.connectors_sender import AGAIN, ANSWER_S, CLOCK, Sender, body


class Posting(Sender):
    """Requests with an Idempotency-Key, to one receiver or the other."""

    is_told = True

    def __init__(self, receivers: list[str], path: str) -> None:
        super().__init__()
        self._urls = [f"{one}{path}" for one in receivers]
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30))
        self.answers: list[int] = []

    async def send(self, number: int) -> None:
        url = self._urls[0]
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"{url[-5:]}-{number}"}
        try:
            async with self._session.post(url, data=body(number), headers=headers) as response:
                if number < 0 and response.status == 400:
                    self.refused += 1
                    return
                if response.status >= 300:
                    raise OSError(f"{url} answered {response.status}")
                answer = await response.json()
        except AGAIN:
            self._urls.append(self._urls.pop(0))
            raise
        if "event" in answer:
            self.answers.append(answer["event"]["n"])

    async def close(self) -> None:
        await self._session.close()


async def _unsaid(_error: Exception) -> None:
    """Every call tells its own errors."""


class Publishing(Sender):
    """Into a stream of the suite's own NATS, under an id."""

    again = (*AGAIN, nats.errors.Error)

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._connection: Any = None

    async def send(self, number: int) -> None:
        if self._connection is None:
            self._connection = await nats.connect(
                self._url, max_reconnect_attempts=-1, error_cb=_unsaid
            )
        jetstream = self._connection.jetstream(timeout=ANSWER_S)
        headers = {"Nats-Msg-Id": f"given-{number}"}
        await jetstream.publish(NATS_IN, body(number), headers=headers)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


class Lines(Sender):
    """At the end of a file, which is renamed now and then."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._rotations = 0

    async def send(self, number: int) -> None:
        with self._path.open("ab") as file:
            file.write(body(number) + b"\n")

    def rotate(self) -> None:
        """As log rotation does."""
        self._rotations += 1
        self._path.rename(self._path.with_name(f"a.log.{self._rotations}"))


class Files(Sender):
    """Whole files, put into a folder at once."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def send(self, number: int) -> None:
        hidden = self._folder / f".{number}"
        hidden.write_bytes(body(number))
        hidden.rename(self._folder / f"{number}.json")


class Framing(Sender):
    """TCP frames over one connection. Nobody says what was taken: each is written once, as soon as
    somebody takes the connection."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, number: int) -> None:
        if self._streams is not None and self._streams[0].at_eof():
            self._streams = None
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        try:
            self._streams[1].write(self._packed(number))
            await self._streams[1].drain()
        except OSError:
            self._streams = None

    def _packed(self, number: int) -> bytes:
        return frame("given", body(number))


class Noting(Framing):
    """The same in syslog: a line each."""

    def _packed(self, number: int) -> bytes:
        return b"<13>" + body(number) + b"\n"


class Pushing(Sender):
    """By the far server's WebSocket, once to who listens there, as soon as anybody does."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self._url = f"{places.far.url}/push"
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S))

    async def send(self, number: int) -> None:
        async with self._session.post(self._url, data=body(number)) as response:
            if response.status != 200:
                raise OSError("nobody listens")

    async def close(self) -> None:
        await self._session.close()


class Admitting(Sender):
    """HL7 messages; one that is not acknowledged is sent again, over a new connection."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, number: int) -> None:
        value = "nothing" if number < 0 else str(number)
        message = f"MSH|^~.&|A|A|B|B|||ADT|c{number}|P|2.3\rPID|{value}\r".encode()
        try:
            async with asyncio.timeout(ANSWER_S):
                if self._streams is None:
                    self._streams = await asyncio.open_connection(HOST, self._port)
                self._streams[1].write(block(message))
                answer = await read_block(self._streams[0])
        except AGAIN:
            self._streams = None
            raise
        assert b"MSA|AA" in answer, answer


class Producing(Sender):
    """An idempotent producer of Kafka's."""

    again = (*AGAIN, KafkaException)

    def __init__(self, servers: str) -> None:
        super().__init__()
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0}
        )

    async def send(self, number: int) -> None:
        self._producer.produce(KAFKA_IN, body(number))
        while self._producer.flush(0):
            await CLOCK.sleep_ms(10)


class Inserting(Sender):
    """Rows of a table of PostgreSQL, each in a transaction."""

    again: tuple[type[Exception], ...] = (
        *AGAIN,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
    )

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._dsn = dsn
        self._connection: Any = None

    async def send(self, number: int) -> None:
        value = "nothing" if number < 0 else str(number)
        try:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._dsn, timeout=ANSWER_S)
            await self._connection.execute(
                f"INSERT INTO {CHANGED} VALUES ($1, $2) ON CONFLICT DO NOTHING", number, value
            )
        except self.again:
            self._connection = None
            raise

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


class MariaInserting(Inserting):
    """The same in MariaDB."""

    again = (*AGAIN, pymysql.MySQLError)

    async def send(self, number: int) -> None:
        value = "nothing" if number < 0 else str(number)
        try:
            if self._connection is None:
                found = parameters_of(datasource_of_url("far", self._dsn))
                self._connection = await aiomysql.connect(**{**found, "autocommit": True})
            cursor = await self._connection.cursor()
            await cursor.execute(f"INSERT IGNORE INTO {CHANGED} VALUES (%s, %s)", (number, value))
        except self.again:
            self._connection = None
            raise

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Mailing(Sender):
    """Mails put into a folder."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        assert places.mails is not None
        self._mails = places.mails

    async def send(self, number: int) -> None:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "a@example.org", "app@example.org", "given"
        mail.set_content(body(number).decode())
        await asyncio.to_thread(self._mails.put, MAILS, mail.as_bytes())


class MqttPublishing(Sender):
    """With quality 1, by a client of its own; what the broker has not acknowledged is repeated by
    the client itself."""

    again = (*AGAIN, RuntimeError, ValueError)

    def __init__(self, port: int, topic: str) -> None:
        super().__init__()
        self._topic = topic
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="far-sender")
        self._client.connect(HOST, port)
        self._client.loop_start()

    async def send(self, number: int) -> None:
        told = self._client.publish(self._topic, body(number), qos=1)
        async with asyncio.timeout(ANSWER_S):
            while not told.is_published():
                await CLOCK.sleep_ms(10)

    async def close(self) -> None:
        with contextlib.suppress(OSError):
            self._client.disconnect()
        self._client.loop_stop()


@contextlib.contextmanager
def listening(port: int, topic: str, heard: list[bytes]) -> Iterator[None]:
    """Keeps what comes to a topic of MQTT, with quality 1, within the block."""
    client = paho.Client(
        paho.CallbackAPIVersion.VERSION2, client_id="far-listener", clean_session=False
    )
    client.on_connect = lambda *_: client.subscribe(topic, qos=1)
    client.on_message = lambda _client, _data, message: heard.append(message.payload)
    client.connect(HOST, port)
    client.loop_start()
    try:
        yield
    finally:
        client.disconnect()
        client.loop_stop()
