"""The servers on the other side of every transport, each behind a proxy that can be cut, and which
of them may be killed: those that keep what they have acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Server, free_port
from lockstep.embedded.process import Command
from lockstep.embedded.redis_server import RedisServer
from lockstep.embedded.server import HOST
from tests.contract.connectors.brokers import Broker, RabbitBroker, rabbitmq
from tests.contract.connectors.redis_peer import RedisFar
from tests.contract.connectors.rsyslog import RsyslogServer
from tests.contract.connectors.rsyslog import program as rsyslog_program
from tests.contract.connectors.sse_server import EventServer
from tests.contract.proxy import Proxy
from tests.e2e.connectors_datagrams import DatagramProxy
from tests.google_cloud_storage.server import Emulator, emulator
from tests.greenmail.server import JAR, MailServer
from tests.kafka.broker import KafkaBroker, absent_jars
from tests.mariadb.server import LOGGED, MariadbServer, program
from tests.s3.server import S3Server, s3_server

B = TypeVar("B", bound=Broker)
AWAY_S: Final = 3.0
"""For so long a server stays away."""
CUT_S: Final = 2.0


GUEST: Final = "guest"


class FarServer(Server):
    """`connectors_far` at `port` (HTTP), at `tcp`, `hl7`, `smtp` and `grpc`, and over UDP at
    `asked` and `set` (SNMP)."""

    name = "far"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        self.book = self.directory / "book"
        self.ports = {name: free_port() for name in ("tcp", "hl7", "smtp", "grpc")}
        self.datagrams = {name: free_port() for name in ("asked", "set")}

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def _prepare(self) -> None:
        self.book.mkdir(exist_ok=True)

    def _command(self) -> Command:
        ports = {"http": self.port, **self.ports, **self.datagrams}
        told = [f"{name}={port}" for name, port in ports.items()]
        arguments = [sys.executable, "-m", "tests.e2e.connectors_far", str(self.book), *told]
        return Command(arguments, self.directory / "log")

    async def _answers(self) -> bool:
        return all([await _listens(port) for port in (self.port, *self.ports.values())])


class MqttBroker(Server):
    """Mosquitto. It acknowledges before its disk has a message: it is cut off, and not killed."""

    name = "mqtt"

    def __init__(self, directory: Path, program: Path) -> None:
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        self._program = program

    @property
    def url(self) -> str:
        return f"tcp://{HOST}:{self.port}"

    async def _prepare(self) -> None:
        (self.directory / "mosquitto.conf").write_text(
            f"listener {self.port} {HOST}\nallow_anonymous true\nmax_queued_messages 0\nuser root\n"
        )

    def _command(self) -> Command:
        libraries = self._program.parents[1] / "lib/x86_64-linux-gnu"
        return Command(
            [
                "/usr/bin/env", f"LD_LIBRARY_PATH={libraries}", str(self._program),
                "-c", str(self.directory / "mosquitto.conf"),
            ],
            self.directory / "log",
        )  # fmt: skip

    async def _answers(self) -> bool:
        return await _listens(self.port)


class Kept(Generic[B]):
    """A broker of the contract tests, which has after its death what it has answered."""

    def __init__(self, name: str, broker: B) -> None:
        self.name = name
        self.broker = broker
        self.port = broker.ports[0]

    async def start(self) -> None:
        """Where it was, on what it keeps."""
        await self.broker.start()

    async def kill(self) -> None:
        """At once."""
        await self.broker.stop()


class Rabbit(Kept[RabbitBroker]):
    """RabbitMQ with its doors for AMQP and STOMP."""

    def __init__(self, directory: Path, program: Path) -> None:
        os.environ.setdefault("RABBITMQ_SERVER", str(program))
        super().__init__("amqp", rabbitmq(directory))
        self.stomp = self.broker.ports[1]

    @property
    def url(self) -> str:
        """For AMQP, past the proxy."""
        return f"amqp://{GUEST}:{GUEST}@{HOST}:{self.port}/"


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    writer.close()
    return True


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def mosquitto() -> Path | None:
    """As `scripts/mosquitto` has unpacked it, or on PATH."""
    return _unpacked("mosquitto/usr/sbin/mosquitto")


def rabbit_server() -> Path | None:
    """As `scripts/rabbitmq` has unpacked it, or on PATH."""
    return _unpacked("rabbitmq/rabbitmq-server")


def _unpacked(place: str) -> Path | None:
    found = Path(sys.prefix) / place
    if found.is_file():
        return found
    installed = shutil.which(found.name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(installed) if installed else None


@dataclass
class Places:
    """Those that are there; None where a server cannot be had on this machine."""

    folder: Path
    far: FarServer
    s3: S3Server
    gcs: Emulator
    redis: RedisServer
    streams: Kept[RedisFar]
    events: Kept[EventServer]
    kafka: KafkaBroker | None = None
    mariadb: MariadbServer | None = None
    mails: MailServer | None = None
    mqtt: MqttBroker | None = None
    rabbit: Rabbit | None = None
    syslog: Kept[RsyslogServer] | None = None
    proxies: dict[str, Proxy | DatagramProxy] = field(default_factory=dict)

    def port(self, name: str) -> int:
        """Where a server can be reached, through its proxy."""
        return self.proxies[name].port

    @property
    def killable(self) -> Sequence[Server | Kept[Any]]:
        """What they acknowledged outlives them."""
        found = (
            self.far,
            self.redis,
            self.streams,
            self.events,
            self.kafka,
            self.mariadb,
            self.rabbit,
        )
        return [one for one in found if one is not None]

    async def cut(self) -> None:
        """Every connection through a proxy ends; nobody gets through for a while."""
        for proxy in self.proxies.values():
            proxy.refuse = True
            proxy.cut()
        await asyncio.sleep(CUT_S)
        for proxy in self.proxies.values():
            proxy.refuse = False

    async def away(self) -> int:
        """Those that may be are killed and started again; the buckets are not to be reached
        meanwhile. Gives how many were killed."""
        await asyncio.to_thread(self.s3.stop)
        self.proxies["gcs"].refuse = True
        self.proxies["gcs"].cut()
        await asyncio.gather(*(one.kill() for one in self.killable))
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self.s3.start)
        self.proxies["gcs"].refuse = False
        await asyncio.gather(*(one.start() for one in self.killable))
        return len(self.killable)


@contextlib.asynccontextmanager
async def places(folder: Path, database_port: int) -> AsyncIterator[Places]:
    """All that can be had, within the block. `database_port`: of the suite's own PostgreSQL."""
    async with contextlib.AsyncExitStack() as stack:
        found = Places(
            folder, FarServer(folder / "far"), stack.enter_context(s3_server()),
            stack.enter_context(emulator()),
            RedisServer(folder / "redis", clock=SystemClock(), randomness=SystemRandomness()),
            Kept("streams", RedisFar(folder / "streams")),
            Kept("events", EventServer(_made(folder / "events"))),
        )  # fmt: skip
        if not absent_jars():
            found.kafka = KafkaBroker(
                folder / "kafka", clock=SystemClock(), randomness=SystemRandomness()
            )
        if program() is not None:
            found.mariadb = MariadbServer(folder / "mariadb", LOGGED)
        if JAR.is_file():
            found.mails = MailServer(folder / "mails")
        if (broker := mosquitto()) is not None:
            found.mqtt = MqttBroker(folder / "mqtt", broker)
        if (server := rabbit_server()) is not None:
            found.rabbit = Rabbit(folder / "rabbit", server)
        if rsyslog_program() is not None:
            found.syslog = Kept("syslog", RsyslogServer(folder / "syslog"))
        servers = [
            one
            for one in (*found.killable, found.mails, found.mqtt, found.syslog)
            if one is not None
        ]
        for one in servers:
            stack.push_async_callback(one.kill)
        await asyncio.gather(*(one.start() for one in servers))
        ports = {"http": found.far.port, **found.far.ports, "s3": found.s3.port}
        ports |= {"postgres": database_port, "gcs": found.gcs.port}
        if found.rabbit is not None:
            ports["stomp"] = found.rabbit.stomp
        for one in servers:
            ports.setdefault(one.name, one.port)
        for name, port in ports.items():
            found.proxies[name] = await stack.enter_async_context(Proxy(port))
        for name, port in found.far.datagrams.items():
            found.proxies[name] = await stack.enter_async_context(DatagramProxy(port))
        yield found
