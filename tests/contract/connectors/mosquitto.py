"""Mosquitto as a process of its own, and clients beside it that are not ours."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from lockstep.testing.connectors import Arrived
from tests.contract.connectors.brokers import Broker, free_port
from tests.needed import lacking

HOST = "127.0.0.1"
NEVER_S = 0xFFFF_FFFF
DENIED = "out/404"
PATIENCE_S = 30.0


def program() -> Path | None:
    """As `scripts/mosquitto` has unpacked it, or on PATH."""
    unpacked = Path(sys.prefix) / "mosquitto/usr/sbin/mosquitto"
    if unpacked.is_file():
        return unpacked
    installed = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(installed) if installed else None


class Mosquitto(Broker):
    """It keeps sessions when it is told to end; nobody may send to DENIED. `more`: lines of its
    configuration."""

    def __init__(self, directory: Path, *more: str) -> None:
        found = program()
        if found is None:
            lacking("no mosquitto: scripts/mosquitto .venv/mosquitto")
        self.port = free_port()
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "acl").write_text(f"topic readwrite #\ntopic deny {DENIED}\n")
        lines = (
            f"listener {self.port} {HOST}", "persistence true", "user root",
            f"persistence_location {directory}/", f"acl_file {directory}/acl",
            "max_queued_messages 0", *(more or ("allow_anonymous true",)),
        )  # fmt: skip
        (directory / "mosquitto.conf").write_text("\n".join(lines) + "\n")
        beside = {"LD_LIBRARY_PATH": str(found.parents[1] / "lib/x86_64-linux-gnu")}
        super().__init__([str(found), "-c", str(directory / "mosquitto.conf")], beside, [self.port])

    @property
    def url(self) -> str:
        """Of our connectors."""
        return f"tcp://{HOST}:{self.port}"

    async def stop(self) -> None:
        """Its connections break; it writes down what it has acknowledged. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGTERM)
            await process.wait()


def client(name: str, *, five: bool = True) -> paho.Client:
    """Of the version that is asked for."""
    return paho.Client(
        paho.CallbackAPIVersion.VERSION2, client_id=name,
        protocol=paho.MQTTv5 if five else paho.MQTTv311,
        clean_session=None if five else False,
    )  # fmt: skip


class Ear:
    """The broker with a subscriber whose session it keeps."""

    def __init__(self, broker: Mosquitto, topic: str) -> None:
        self._broker = broker
        self._topic = topic
        self._client: paho.Client | None = None
        self.got: list[Arrived] = []
        self._retained: list[bool] = []

    async def start(self) -> None:
        await self._broker.start()
        await self.listen()

    async def listen(self) -> None:
        """To a broker that is there."""
        self._client = made = client("ear")
        subscribed = asyncio.Event()
        loop = asyncio.get_running_loop()
        # With quality 2 a message is heard at the end of a handshake, which the broker's end cuts.
        made.on_connect = lambda *_: made.subscribe(self._topic, qos=1)
        made.on_subscribe = lambda *_: loop.call_soon_threadsafe(subscribed.set)
        made.on_message = lambda _c, _u, message: self._take(message)
        kept = Properties(PacketTypes.CONNECT)
        kept.SessionExpiryInterval = NEVER_S
        made.connect(HOST, self._broker.port, clean_start=False, properties=kept)
        made.loop_start()
        async with asyncio.timeout(PATIENCE_S):
            await subscribed.wait()

    async def stop(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
        await self._broker.stop()

    async def received(self) -> Sequence[Arrived]:
        """What the broker has retained comes in the order of its own tree of topics, when one
        subscribes: that says nothing of how it came in, so such a run is put in order."""
        found: list[Arrived] = []
        pairs = zip(list(self._retained), list(self.got), strict=False)
        for is_retained, run in groupby(pairs, key=itemgetter(0)):
            arrived = [one for _, one in run]
            found += sorted(arrived, key=_number) if is_retained else arrived
        return found

    def _take(self, message: Any) -> None:
        pairs = dict(getattr(message.properties, "UserProperty", ()))
        self._retained.append(bool(message.retain))
        self.got.append(Arrived(message.payload, pairs.get("lockstep-id")))


def _number(arrived: Arrived) -> int:
    """The first one in a payload."""
    found = re.search(rb"\d+", arrived.payload)
    return int(found[0]) if found else -1


class Voice:
    """The broker with a publisher, which waits for each acknowledgement."""

    def __init__(self, broker: Mosquitto, topic: str, *, five: bool = True) -> None:
        self._broker = broker
        self._topic = topic
        self._five = five
        self._client: paho.Client | None = None

    async def start(self) -> None:
        await self._broker.start()
        self._client = client(f"voice-{id(self)}", five=self._five)
        self._client.connect(HOST, self._broker.port)
        self._client.loop_start()

    async def stop(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
        await self._broker.stop()

    async def send(self, payload: bytes) -> None:
        """Under an identity made of the payload."""
        await self.publish(self._topic, payload, lambda made: _named(made, payload.hex()))

    async def publish(
        self, topic: str, payload: bytes, fill: Callable[[Properties], None] = lambda _: None
    ) -> None:
        """Until the broker has it. `fill` sets properties."""
        assert self._client is not None
        properties = Properties(PacketTypes.PUBLISH)
        fill(properties)
        given = properties if self._five else None
        told = self._client.publish(topic, payload, qos=1, properties=given)
        await asyncio.to_thread(told.wait_for_publish, PATIENCE_S)
        assert told.is_published()


def _named(made: Properties, identity: str) -> None:
    made.UserProperty = ("lockstep-id", identity)
