"""Services against real servers in this event loop: each node with connections and a door of its
own.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from lockstep.bus import LogName
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import EmbeddedServers
from lockstep.events import OutputRecord, OutputRow, UnavailableError
from lockstep.frame import Process, Wire, World, open_world
from lockstep.leader import Lease, Leases
from lockstep.settings import Settings, load_settings
from services.coordinator.wiring import wire as coordinator
from services.presenter.wiring import wire as presenter
from services.processor.wiring import wire as processor
from services.publisher.wiring import wire as publisher
from services.receiver.wiring import wire as receiver

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
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "500",
    "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MS": "50",
    "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS": "200",
    "LOCKSTEP_PUBLISHER__RETRY_MAX_ATTEMPTS": "3",
    "LOCKSTEP_TELEMETRY__LOG_LEVEL": "warning",
}
CLOCK = SystemClock()
RANDOM = SystemRandomness()
WAIT_MS = 20_000
POLL_MS = 25

Answer = tuple[int, Any]


class BreakableLeases:
    """Real leases whose server can be made unreachable for one node."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self.broken = False

    def _checked(self) -> Leases:
        if self.broken:
            raise UnavailableError("the way to the lease server is cut")
        return self._leases

    async def acquire(self, resource: str, holder: str, *, ttl_ms: int) -> Lease | None:
        return await self._checked().acquire(resource, holder, ttl_ms=ttl_ms)

    async def renew(self, lease: Lease) -> Lease | None:
        return await self._checked().renew(lease)

    async def release(self, lease: Lease) -> bool:
        return await self._checked().release(lease)

    async def holder(self, resource: str) -> str | None:
        return await self._checked().holder(resource)

    async def hand_over(self, lease: Lease, to: str) -> bool:
        return await self._checked().hand_over(lease, to)

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
        await self.process.stop()
        await self.world.close()

    async def crash(self) -> None:
        """Gone without a word: its connections break first, so it can give nothing back."""
        self.leases.broken = True
        await self.world.bus.close()
        for context in self.process.running.contexts.values():
            await context.tasks.stop_all()
        await self.process.close_door()
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
        world = World(opened.bus, leases, opened.store)
        process = Process(settings, world, CLOCK, RANDOM)
        for service in chosen:
            process.add(service, WIRES[service])
        await process.start()
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

    async def deploy(self, text: str, replicas: int = 1) -> str:
        """Deploys an app and waits until somebody leads it and all replicas are ready."""
        status, answer = await self.call("PUT", "coordinator", "/v1/apps", json={"text": text})
        assert status in (200, 201), answer
        app = str(answer["app"])
        await self.settled(app, replicas, version=str(answer["version"]))
        return app

    async def settled(self, app: str, replicas: int, *, version: str | None = None) -> Any:
        """Waits for an active replica and `replicas` ready ones (of a version)."""

        async def there() -> Any:
            found = (await self.status(app))["replicas"]
            ready = [r for r in found if r["ready"] and version in (None, r["version"])]
            active = [r for r in ready if r["role"] == "active"]
            return found if len(ready) == replicas and len(active) == 1 else None

        return await until(there, f"{replicas} ready replicas of {app}")

    async def status(self, app: str) -> Any:
        """The coordinator's status of an app."""
        status, answer = await self.call("GET", "coordinator", f"/v1/apps/{app}/status")
        assert status == 200, answer
        return answer

    async def active(self, app: str) -> str:
        """The node that leads; waits for one, as a heartbeat may come late."""

        async def leads() -> str | None:
            found = (await self.status(app))["replicas"]
            return next((str(r["node"]) for r in found if r["role"] == "active"), None)

        return str(await until(leads, f"a leader of {app}"))

    async def send(self, app: str, stream: str, data: Any, **headers: str) -> Any:
        """Sends JSON; it must be accepted."""
        path = f"/v1/apps/{app}/streams/{stream}/events"
        status, answer = await self.call("POST", "receiver", path, json=data, headers=headers)
        assert status == 200, answer
        return answer

    async def published(self, app: str) -> list[OutputRow]:
        """All rows that the output log holds now; those that come meanwhile are not waited for."""
        log = await self.watcher.bus.output_log(LogName(app))
        rows: list[OutputRow] = []
        after, end = 0, (await log.tail()).sequence
        while after < end:
            entries = await log.read(after, max_records=1000, max_bytes=10**8, wait_ms=1000)
            for entry in entries:
                if isinstance(entry.record, OutputRecord):
                    rows += entry.record.rows
            after = entries[-1].sequence if entries else after
        return rows

    async def published_count(self, app: str, count: int) -> list[OutputRow]:
        """Waits for that many rows, then makes sure of identities: ascending, none twice."""

        async def there() -> list[OutputRow] | None:
            rows = await self.published(app)
            return rows if len(rows) >= count else None

        rows: list[OutputRow] = await until(there, f"{count} published rows of {app}")
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
        return rows


async def until(check: Callable[[], Awaitable[Any]], what: str) -> Any:
    """The first truthy answer; AssertionError when there is none in time."""
    deadline_ms = CLOCK.monotonic_ms() + WAIT_MS
    while CLOCK.monotonic_ms() < deadline_ms:
        found = await check()
        if found:
            return found
        await CLOCK.sleep_ms(POLL_MS)
    raise AssertionError(f"not within {WAIT_MS} ms: {what}")


@contextlib.asynccontextmanager
async def running_cluster(
    servers: EmbeddedServers, directory: Path, nodes: Sequence[str], **overrides: str
) -> AsyncIterator[Cluster]:
    """Nodes on the session's servers, with a database and a lease space of their own."""
    unique = RANDOM.uuid_hex()[:10]
    dsn = await _own_database(servers.postgres_dsn, f"test_{unique}")
    environment = {
        **QUICK,
        "LOCKSTEP_BUS__URL": servers.nats_url,
        "LOCKSTEP_LEADER__URL": servers.redis_url,
        "LOCKSTEP_STORE__POSTGRES_DSN": dsn,
        "LOCKSTEP_STORE__DIRECTORY": str(directory),
        **overrides,
    }
    settings = load_settings(environment)
    watcher = await open_world(settings, CLOCK, RANDOM)
    async with aiohttp.ClientSession() as session:
        cluster = Cluster(settings, environment, session, watcher)
        try:
            for name in nodes:
                await cluster.start(name)
            yield cluster
        finally:
            for node in list(cluster.nodes.values())[::-1]:
                await node.stop()
            await watcher.close()


async def _own_database(dsn: str, name: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'CREATE DATABASE "{name}"')
    finally:
        await connection.close()
    return dsn.rsplit("/", 1)[0] + f"/{name}"
