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
from typing import Final

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Server, free_port
from lockstep.embedded.process import Command
from lockstep.embedded.server import HOST
from tests.contract.proxy import Proxy
from tests.greenmail.server import JAR, MailServer
from tests.kafka.broker import KafkaBroker, absent_jars
from tests.mariadb.server import LOGGED, MariadbServer, program
from tests.s3.server import S3Server, s3_server

AWAY_S: Final = 3.0
"""For so long a server stays away."""
CUT_S: Final = 2.0


class FarServer(Server):
    """`connectors_far` at `port` (HTTP), and at `tcp`, `hl7` and `smtp`."""

    name = "far"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, clock=SystemClock(), randomness=SystemRandomness())
        self.book = self.directory / "book"
        self.ports = {name: free_port() for name in ("tcp", "hl7", "smtp")}

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def _prepare(self) -> None:
        self.book.mkdir(exist_ok=True)

    def _command(self) -> Command:
        ports = {"http": self.port, **self.ports}
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


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    writer.close()
    return True


def mosquitto() -> Path | None:
    """As `scripts/mosquitto` has unpacked it, or on PATH."""
    unpacked = Path(sys.prefix) / "mosquitto/usr/sbin/mosquitto"
    if unpacked.is_file():
        return unpacked
    installed = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(installed) if installed else None


@dataclass
class Places:
    """Those that are there; None where a server cannot be had on this machine."""

    folder: Path
    far: FarServer
    s3: S3Server
    kafka: KafkaBroker | None = None
    mariadb: MariadbServer | None = None
    mails: MailServer | None = None
    mqtt: MqttBroker | None = None
    proxies: dict[str, Proxy] = field(default_factory=dict)

    def port(self, name: str) -> int:
        """Where a server can be reached, through its proxy."""
        return self.proxies[name].port

    @property
    def killable(self) -> Sequence[Server]:
        """What they acknowledged outlives them."""
        return [one for one in (self.far, self.kafka, self.mariadb) if one is not None]

    async def cut(self) -> None:
        """Every connection through a proxy ends; nobody gets through for a while."""
        for proxy in self.proxies.values():
            proxy.refuse = True
            proxy.cut()
        await asyncio.sleep(CUT_S)
        for proxy in self.proxies.values():
            proxy.refuse = False

    async def away(self) -> int:
        """Those that may be are killed and started again; the bucket is not to be reached
        meanwhile. Gives how many were killed."""
        await asyncio.to_thread(self.s3.stop)
        await asyncio.gather(*(one.kill() for one in self.killable))
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self.s3.start)
        await asyncio.gather(*(one.start() for one in self.killable))
        return len(self.killable)


@contextlib.asynccontextmanager
async def places(folder: Path, database_port: int) -> AsyncIterator[Places]:
    """All that can be had, within the block. `database_port`: of the suite's own PostgreSQL."""
    async with contextlib.AsyncExitStack() as stack:
        found = Places(folder, FarServer(folder / "far"), stack.enter_context(s3_server()))
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
        servers = [one for one in (*found.killable, found.mails, found.mqtt) if one is not None]
        for one in servers:
            stack.push_async_callback(one.kill)
        await asyncio.gather(*(one.start() for one in servers))
        ports = {"http": found.far.port, **found.far.ports, "s3": found.s3.port}
        ports["postgres"] = database_port
        for server in servers:
            ports.setdefault(server.name, server.port)
        for name, port in ports.items():
            found.proxies[name] = await stack.enter_async_context(Proxy(port))
        yield found
