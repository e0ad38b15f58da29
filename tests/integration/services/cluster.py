"""Services against real servers in this event loop: each node with connections and a door of its
own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import asyncpg
import nats
from redis.asyncio import Redis

from lockstep.bus import LogName
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import EmbeddedServers
from lockstep.events import LockstepError, LogEntry, OutputRecord, OutputRow, UnavailableError
from lockstep.frame import Process, Wire, World, open_world
from lockstep.leader import Held, Lease, Leases, Renewal
from lockstep.settings import Settings, load_settings
from lockstep.store import Revision
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.presenter.wiring import wire as presenter
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.publisher.wiring import wire as publisher
from lockstep_services.receiver.wiring import wire as receiver

WIRES: Mapping[str, Wire] = {
    "coordinator": coordinator,
    "processor": processor,
    "publisher": publisher,
    "presenter": presenter,
    "receiver": receiver,
}
QUICK = {
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "60000",
    "LOCKSTEP_LEADER__LEASE_TTL_MS": "1500",
    "LOCKSTEP_LEADER__RENEW_MS": "200",
    "LOCKSTEP_LEADER__RETRY_MS": "50",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "150",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_MAX_RETRY": "9",  # as long as a lease lasts
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "500",
    "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MS": "50",
    "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS": "200",
    "LOCKSTEP_PUBLISHER__RETRY_MAX_ATTEMPTS": "3",
    "LOCKSTEP_TELEMETRY__LOG_LEVEL": "warning",
}
STEADY = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "5000"}
"""For tests that say who leads: on a machine that stalls for a second or two it stays so."""
CLOCK = SystemClock()
RANDOM = SystemRandomness()
WAIT_MS = 60_000
POLL_MS = 25
READ_WAIT_MS = 10_000
"""A log that holds more than was read gives it within that, on a machine however busy."""
AGAIN_PAUSE_MS = 200

Answer = tuple[int, Any]
Entry = TypeVar("Entry")


class BreakableLeases:
    """Real leases whose server can be made unreachable for one node."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self.broken = False

    def _checked(self) -> Leases:
        if self.broken:
            raise UnavailableError("the way to the lease server is cut")
        return self._leases

    @property
    def process(self) -> str:
        return self._leases.process

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        return await self._checked().acquire(resource, holder, ttl_ms=ttl_ms, instead_of=instead_of)

    async def appear(self) -> None:
        await self._checked().appear()

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        return await self._checked().connected(processes)

    async def renew(self, lease: Lease) -> Lease | None:
        return await self._checked().renew(lease)

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        return await self._checked().renew_all(leases, ttl_ms=ttl_ms)

    async def holders(self, resources: Sequence[str]) -> Mapping[str, Held]:
        return await self._checked().holders(resources)

    async def release(self, lease: Lease) -> bool:
        return await self._checked().release(lease)

    async def holder(self, resource: str) -> str | None:
        return await self._checked().holder(resource)

    async def hand_over(self, lease: Lease, to: str) -> bool:
        return await self._checked().hand_over(lease, to)

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        return await self._checked().owner(suite, instead_of=instead_of)

    async def healthy(self) -> bool:
        return not self.broken and await self._leases.healthy()

    async def close(self) -> None:
        await self._leases.close()


@dataclass
class Node:
    """One process's worth of services."""

    name: str
    process: Process
    world: World
    leases: BreakableLeases

    @property
    def url(self) -> str:
        """Its door."""
        return self.process.running.url

    async def stop(self) -> None:
        """In good order."""
        try:
            await self.process.stop()
        finally:
            await self.world.close()

    async def crash(self) -> None:
        """Gone without a word: its connections break first, so it can give nothing back."""
        self.leases.broken = True
        await self.world.bus.close()
        for context in self.process.running.contexts.values():
            await context.tasks.stop_all()
        await self.process.vanish()
        await self.world.close()


@dataclass
class Cluster:
    """Running nodes by name, and how to talk to them."""

    settings: Settings
    environment: Mapping[str, str]
    session: aiohttp.ClientSession
    watcher: World
    nodes: dict[str, Node] = field(default_factory=dict)

    async def start(self, name: str, *services: str, **overrides: str) -> Node:
        """A node that runs the services named (by default the one that its name begins with)."""
        chosen = services or (name.split("-")[0],)
        environment = {**self.environment, **overrides, "LOCKSTEP_SERVER__NODE": name}
        settings = load_settings(environment)
        opened = await open_world(settings, CLOCK, RANDOM)
        leases = BreakableLeases(opened.leases)
        world = World(opened.bus, leases, opened.store, opened.strangers, opened.suite)
        process = Process(settings, world, CLOCK, RANDOM)
        for service in chosen:
            process.add(service, WIRES[service])
        try:
            await process.start()
        except LockstepError:
            await process.stop()
            await world.close()
            raise
        node = self.nodes[name] = Node(name, process, world, leases)
        return node

    async def stop(self, name: str) -> None:
        """In good order."""
        await self.nodes.pop(name).stop()

    async def crash(self, name: str) -> None:
        """Without a word."""
        await self.nodes.pop(name).crash()

    def url(self, service: str) -> str:
        """The door of the first node that runs a service."""
        for node in self.nodes.values():
            if service in node.process.running.contexts:
                return node.url
        raise LookupError(service)

    async def call(
        self,
        method: str,
        service: str,
        path: str,
        *,
        body: bytes | str | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """(status, decoded body)."""
        url = self.url(service) + path
        async with self.session.request(
            method, url, data=body, json=json, headers=headers
        ) as response:
            if "json" in response.content_type:
                return response.status, await response.json()
            return response.status, await response.text()

    async def asked(self, method: str, path: str, *, json: Any = None) -> Answer:
        """What a coordinator answers; asked again while it says to come back in a moment."""
        last: Answer = (0, None)

        async def settled() -> Answer | None:
            nonlocal last
            last = await self.call(method, "coordinator", path, json=json)
            if last[0] == HTTPStatus.SERVICE_UNAVAILABLE:
                await CLOCK.sleep_ms(AGAIN_PAUSE_MS)
                return None
            return last

        found: Answer = await until(settled, f"{method} {path} without 503", seen=lambda: last)
        return found

    async def snapshot(self, app: str) -> str:
        """Takes a revision; its id."""
        status, answer = await self.asked("POST", f"/v1/apps/{app}/snapshot")
        assert status == 200, answer
        return str(answer["message"])

    async def deploy(self, text: str, replicas: int = 1) -> str:
        """Deploys an app and waits until somebody leads it and all replicas are ready."""
        status, answer = await self.asked("PUT", "/v1/apps", json={"text": text})
        assert status in (200, 201), answer
        app = str(answer["app"])
        await self.settled(app, replicas, version=str(answer["version"]))
        return app

    async def settled(self, app: str, replicas: int, *, version: str | None = None) -> Any:
        """Waits for an active replica and `replicas` ready ones (of a version)."""

        found: Any = None

        async def there() -> Any:
            nonlocal found
            found = (await self.status(app))["replicas"]
            ready = [r for r in found if r["ready"] and version in (None, r["version"])]
            active = [r for r in ready if r["role"] == "active"]
            return found if len(ready) == replicas and len(active) == 1 else None

        return await until(there, f"{replicas} ready replicas of {app}", seen=lambda: found)

    async def status(self, app: str) -> Any:
        """The coordinator's status of an app."""
        status, answer = await self.call("GET", "coordinator", f"/v1/apps/{app}/status")
        assert status == 200, answer
        return answer

    async def active(self, app: str) -> str:
        """The living node that leads; waits for one, as a heartbeat may come late. What is heard of
        a node outlives its crash, and of two who say that they lead the later epoch does."""
        found: Any = None

        async def leads() -> str | None:
            nonlocal found
            found = (await self.status(app))["replicas"]
            living = [r for r in found if r["role"] == "active" and r["node"] in self.nodes]
            return max(living, key=lambda r: r["epoch"])["node"] if living else None

        return str(await until(leads, f"a leader of {app}", seen=lambda: found))

    async def send(self, app: str, stream: str, data: Any, **headers: str) -> Any:
        """Sends JSON; it must be accepted."""
        path = f"/v1/apps/{app}/streams/{stream}/events"
        status, answer = await self.call("POST", "receiver", path, json=data, headers=headers)
        assert status == 200, answer
        return answer

    async def published(self, app: str) -> list[OutputRow]:
        """All rows that the output log holds now; those that come meanwhile are not waited for."""
        log = await self.watcher.bus.output_log(await log_of(self.watcher, app))
        end = (await log.tail()).sequence
        entries = [entry async for entry in _up_to(end, log.read, lambda entry: entry.sequence)]
        records = [each.record for each in entries if isinstance(each.record, OutputRecord)]
        return [row for record in records for row in record.rows]

    async def taken_in(self, app: str) -> list[LogEntry]:
        """All that the input log holds now."""
        log = await self.watcher.bus.input_log(await log_of(self.watcher, app))
        _, end = await log.bounds()
        return [entry async for entry in _up_to(end, log.read, lambda entry: entry.position)]

    async def published_count(self, app: str, count: int) -> list[OutputRow]:
        """Waits for that many rows, then makes sure of identities: ascending, none twice."""

        rows: list[OutputRow] = []

        async def there() -> bool:
            nonlocal rows
            rows = await self.published(app)
            return len(rows) >= count

        await until(there, f"{count} published rows of {app}", seen=lambda: (len(rows), rows[-5:]))
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
        return rows


async def send_once(cluster: Cluster, app: str, stream: str, data: Any, key: str) -> None:
    """Sends JSON, again under its key if a receiver dies over it, until one takes it."""
    path = f"/v1/apps/{app}/streams/{stream}/events"
    headers = {"Idempotency-Key": key}

    async def taken() -> bool:
        try:
            status, answer = await cluster.call(
                "POST", "receiver", path, json=data, headers=headers
            )
        except aiohttp.ClientConnectionError:
            return False
        assert status in (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE), answer
        return status == HTTPStatus.OK

    await until(taken, f"{key} is taken")


async def table(cluster: Cluster, query: str) -> list[tuple[Any, ...]]:
    """Rows of the cluster's own database."""
    dsn = cluster.settings.store.postgres_dsn.get_secret_value()
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    except asyncpg.UndefinedTableError:
        return []
    finally:
        await connection.close()


async def log_of(world: World, app: str) -> LogName:
    """The logs of an app, or those that it had last."""
    return max(await world.bus.logs(app))


async def revisions_of(world: World, app: str) -> Sequence[Revision]:
    """The store's, newest first."""
    return await world.store.revisions.list(*(await log_of(world, app)).key)


async def until(
    check: Callable[[], Awaitable[Any]], what: str, *, seen: Callable[[], object] = lambda: None
) -> Any:
    """The first truthy answer; AssertionError with what was `seen` when there is none in time."""
    limit = asyncio.timeout(WAIT_MS / 1000)
    try:
        async with limit:
            while not (found := await check()):
                await CLOCK.sleep_ms(POLL_MS)
            return found
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(f"not within {WAIT_MS} ms: {what}; seen last: {seen()}") from None


async def _up_to(
    end: int, read: Callable[..., Awaitable[Sequence[Entry]]], place_of: Callable[[Entry], int]
) -> AsyncIterator[Entry]:
    """What a log holds from its beginning to an end that was seen."""
    after = 0
    while after < end:
        entries = await read(after, max_records=1000, max_bytes=10**8, wait_ms=READ_WAIT_MS)
        if not entries:
            return  # trimmed meanwhile
        for entry in entries:
            yield entry
        after = place_of(entries[-1])


@contextlib.asynccontextmanager
async def running_cluster(
    servers: EmbeddedServers, directory: Path, nodes: Sequence[str], **overrides: str
) -> AsyncIterator[Cluster]:
    """Nodes on the session's servers, with a database of their own; logs and leases begin empty."""
    unique = RANDOM.uuid_hex()[:10]
    dsn = await own_database(servers.postgres_dsn, f"test_{unique}")
    await _emptied(servers)
    environment = {
        **QUICK,
        "LOCKSTEP_BUS__URL": servers.nats_url,
        "LOCKSTEP_LEADER__URL": servers.redis_url,
        "LOCKSTEP_STORE__POSTGRES_DSN": dsn,
        "LOCKSTEP_STORE__DIRECTORY": str(directory),
        **overrides,
    }
    settings = load_settings(environment)
    timeout = aiohttp.ClientTimeout(total=WAIT_MS / 1000)
    async with contextlib.AsyncExitStack() as ending:
        watcher = await open_world(settings, CLOCK, RANDOM)
        ending.push_async_callback(watcher.close)
        session = await ending.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        cluster = Cluster(settings, environment, session, watcher)
        ending.push_async_callback(_stop_all, cluster.nodes)
        for name in nodes:
            await cluster.start(name)
        yield cluster


async def _stop_all(nodes: Mapping[str, Node]) -> None:
    """The youngest first; whatever fails, none is left running among the next test's."""
    async with contextlib.AsyncExitStack() as ending:
        for node in nodes.values():
            ending.push_async_callback(node.stop)


async def _emptied(servers: EmbeddedServers) -> None:
    """Removes what earlier tests left in the session's servers: apps of the same names have the
    same logs and leases, and there is one ingress for all."""
    async with Redis.from_url(servers.redis_url) as leases:
        await leases.flushdb()
    client = await nats.connect(servers.nats_url)
    try:
        jetstream = client.jetstream(timeout=WAIT_MS / 1000)
        while found := await jetstream.streams_info():
            for stream in found:
                assert stream.config.name is not None
                await jetstream.delete_stream(stream.config.name)
    finally:
        await client.close()


async def own_database(dsn: str, name: str) -> str:
    """A new one on the server; its DSN."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'CREATE DATABASE "{name}"')
    finally:
        await connection.close()
    return dsn.rsplit("/", 1)[0] + f"/{name}"


async def rows_of(cluster: Cluster, app: str, stream: str, count: int) -> list[Any]:
    """The values of so many published rows of a stream, in order."""
    found: list[Any] = []

    async def there() -> bool:
        nonlocal found
        found = [row.data for row in await cluster.published(app) if row.stream == stream]
        return len(found) >= count

    await until(there, f"{count} rows of {stream}", seen=lambda: found)
    return found
