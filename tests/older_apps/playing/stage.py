"""All that the apps are played against: a suite in this process, and a real server of each kind.

A server that cannot be had on this machine is left out; what needs it is not played.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import aiomysql
import pytest

from lockstep.cli.client import Client
from lockstep.cli.suite import running_suite
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import free_port
from lockstep.embedded.redis_server import RedisServer
from lockstep.embedded.server import USER
from lockstep.frame import World, open_world
from lockstep.telemetry import LogTail, configure_logging
from lockstep.tls import TlsFiles, serving
from tests.contract.connectors.brokers import RabbitBroker, rabbitmq
from tests.contract.connectors.nats_peer import nats_broker, url_of
from tests.google_cloud_storage.server import BUCKET as GOOGLE_BUCKET
from tests.google_cloud_storage.server import Emulator, door, emulator, new_key
from tests.greenmail import server as greenmail
from tests.kafka.broker import KafkaBroker, start_broker
from tests.mariadb.server import LOGGED, MariadbServer, start_mariadb
from tests.older_apps.playing.outside import MAIL, Outside
from tests.older_apps.playing.repointing import Account, GoogleStore, Places
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY, s3_server
from tests.schema_registry import RegistryServer
from tests.tls.terminator import terminating

T = TypeVar("T")
HOST: Final = "localhost"
GUEST: Final = "guest"
MAX_LINES: Final = 1_000
LINE_OF: Final = "/main/0/"


class Lines(LogTail):
    """The lines that log sinks have written, by app."""

    def __init__(self) -> None:
        super().__init__(max_lines=MAX_LINES, max_bytes=1_048_576)
        self.of: defaultdict[str, list[bytes]] = defaultdict(list)

    def add(self, level: str, written: str) -> None:
        """Those with an output's identity are theirs."""
        super().add(level, written)
        if LINE_OF in written and '"timestamp_ms"' in written:
            said = json.loads(written)
            log = str(said.get("id", "")).rpartition(LINE_OF)[0]
            name, at, _ = log.rpartition("@")
            self.of[name if at else log].append(str(said["message"]).encode())


@dataclass(frozen=True)
class Stage:
    """What is there while the apps are played."""

    places: Places
    client: Client
    world: World
    outside: Outside
    lines: Lines
    ports: Iterator[int]
    kafka: KafkaBroker | None
    mysql: MariadbServer | None
    mails: greenmail.MailServer | None
    registry: RegistryServer
    google: Emulator

    async def database(self, name: str, statements: Sequence[str] = ()) -> None:
        """Makes one in MySQL, and what belongs into it."""
        await self.asked("", f"CREATE DATABASE IF NOT EXISTS {name}")
        for each in statements:
            await self.asked(name, each)

    async def asked(
        self, database: str, statement: str, values: Sequence[object] | None = None
    ) -> list[tuple[object, ...]]:
        """What MySQL answers. `values`: of each `%s`."""
        assert self.mysql is not None
        connection = await aiomysql.connect(
            host=self.mysql.machine.host, port=self.mysql.port, user=USER,
            password=self.mysql.password, db=database or None, autocommit=True,
        )  # fmt: skip
        try:
            async with connection.cursor() as cursor:
                await cursor.execute(statement, values)
                return list(await cursor.fetchall())
        finally:
            connection.close()


@contextlib.asynccontextmanager
async def open_stage(
    folder: Path, files: TlsFiles, executor: str, datasources: Mapping[str, str], log: Path
) -> AsyncIterator[Stage]:
    """All of it, up within the block. `files`: what the servers here show; `datasources`: the
    database of each name."""
    async with contextlib.AsyncExitStack() as stack:
        tls = serving(files)
        assert tls is not None
        outside = Outside(tls)
        await outside.start()
        stack.push_async_callback(outside.stop)
        kafka = await _had(lambda: start_broker(folder / "kafka"))
        mysql = await _had(lambda: start_mariadb(folder / "mariadb", *LOGGED))
        mails = await _had(lambda: _mails(folder / "mails"))
        for server in (kafka, mysql, mails):
            if server is not None:
                stack.push_async_callback(server.kill)
        rabbit = await _had(lambda: _rabbit(folder / "rabbitmq"))
        if rabbit is not None:
            stack.push_async_callback(rabbit.stop)
        imap = None
        if mails is not None:
            port = await stack.enter_async_context(terminating(mails.port, files))
            imap = Account(HOST, port, greenmail.USER, greenmail.PASSWORD)
        s3 = stack.enter_context(s3_server())
        store = stack.enter_context(emulator())
        theirs = await stack.enter_async_context(_theirs(folder, store))
        registry = RegistryServer()
        await stack.enter_async_context(registry.running())
        lines = Lines()
        said = stack.enter_context(log.open("w"))
        configure_logging(service="suite", level="debug", stream=said, tail=lines)
        overrides = {
            "LOCKSTEP_PROCESSOR__EXECUTOR": executor,
            "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "500",
            "LOCKSTEP_TELEMETRY__LOG_LEVEL": "debug",
            "LOCKSTEP_DATASOURCES__FILE": str(_datasources(folder, datasources, mysql)),
        }
        suite = await stack.enter_async_context(
            running_suite(folder / "suite", overrides=overrides, sync_interval="1s", tail=lines)
        )
        world = await open_world(suite.settings, SystemClock(), SystemRandomness())
        stack.push_async_callback(world.close)
        client = await stack.enter_async_context(Client(suite.addresses))
        ports = outside.ports
        smtp = Account(HOST, ports["smtp"], MAIL.user, MAIL.password)
        places = Places(
            folder=folder / "files",
            http=ports["http"],
            https=ports["https"],
            tcp=ports["tcp"],
            websocket=ports["http"],
            hl7=ports["hl7"],
            smtp=smtp,
            kafka=None if kafka is None else kafka.url,
            mysql=None if mysql is None else Account(HOST, mysql.port, USER, mysql.password),
            imap=imap,
            s3=Account(HOST, s3.port, ACCESS_KEY, SECRET_KEY),
            bucket=BUCKET,
            registry=registry.url,
            grpc=ports["grpc"],
            **theirs,
            **({} if rabbit is None else _doors(rabbit)),
        )
        free = (free_port() for _ in itertools.count())
        yield Stage(
            places, client, world, outside, lines, free, kafka, mysql, mails, registry, store
        )


async def _had(start: Callable[[], Awaitable[T]]) -> T | None:
    """A server, or None where its program is not on this machine."""
    try:
        return await start()
    except pytest.skip.Exception as reason:
        print(f"left out: {reason}")
        return None


async def _rabbit(folder: Path) -> RabbitBroker:
    """One on PATH, or the one that `scripts/rabbitmq` has brought."""
    unpacked = Path(sys.prefix) / "rabbitmq" / "rabbitmq-server"
    if unpacked.is_file():
        os.environ.setdefault("RABBITMQ_SERVER", str(unpacked))
    broker = rabbitmq(folder)
    await broker.start()
    return broker


def _doors(broker: RabbitBroker) -> dict[str, Any]:
    """It speaks AMQP, MQTT, and STOMP as a broker with JMS."""
    amqp, stomp, mqtt = broker.ports
    return {
        "amqp": f"amqp://{GUEST}:{GUEST}@{HOST}:{amqp}/",
        "stomp": Account(HOST, stomp, GUEST, GUEST),
        "mqtt": mqtt,
    }


async def _mails(folder: Path) -> greenmail.MailServer:
    server = greenmail.MailServer(folder)
    await server.start()
    return server


@contextlib.asynccontextmanager
async def _theirs(folder: Path, store: Emulator) -> AsyncIterator[dict[str, Any]]:
    """NATS and Redis that are not the suite's; Google's store behind a door that wants tokens, and
    a key for them."""
    nats = nats_broker(folder / "nats")
    redis = RedisServer(folder / "redis", clock=SystemClock(), randomness=SystemRandomness())
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(nats.stop)
        stack.push_async_callback(redis.kill)
        await asyncio.gather(nats.start(), redis.start())
        entry = await stack.enter_async_context(door(store, new_key()))
        key = folder / "google.json"
        key.write_text(entry.key_file())
        key.chmod(0o600)
        yield {
            "nats": url_of(nats),
            "redis": Account(HOST, redis.port, "", redis.password),
            "google": GoogleStore(entry.url, GOOGLE_BUCKET, str(key)),
        }


def _datasources(folder: Path, databases: Mapping[str, str], mysql: MariadbServer | None) -> Path:
    """Databases that apps call by a name, in MySQL. Apps may change them."""
    file = folder / "datasources.toml"
    file.write_text(
        ""
        if mysql is None
        else "".join(
            f'["{name}"]\nurl = "mysql://{HOST}:{mysql.port}/{database}"\n'
            f'username = "{USER}"\npassword = "{mysql.password}"\napp_changes = true\n'
            for name, database in databases.items()
        )
    )
    file.chmod(0o600)
    return file
