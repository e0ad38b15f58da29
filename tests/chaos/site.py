"""Everything that chaos breaks: processes of all services, the three servers of the bus, Redis,
PostgreSQL, and the network between them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from lockstep.bus import LogName
from lockstep.cli.addresses import Addresses
from lockstep.cli.processes import ServiceProcess
from lockstep.clock import SystemClock
from lockstep.embedded import EmbeddedServers, prepare_spark_environment
from lockstep.settings import Settings, load_settings
from tests.chaos.app import APP
from tests.chaos.buses import BusServers, bus_servers
from tests.chaos.lake import DISK_BYTES as LAKE_BYTES
from tests.chaos.lake import Lake, lake_in
from tests.chaos.network import BUS_HOSTS, CLIENTS, POSTGRES, REDIS, SERVER_HOSTS, Network
from tests.chaos.service import CLOCK_VARIABLE, set_offset

CLOCK = SystemClock()
PLAN: tuple[tuple[str, str], ...] = (
    ("coordinator-1", "coordinator"),
    ("coordinator-2", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("processor-3", "processor"),
    ("publisher-1", "publisher"),
    ("publisher-2", "publisher"),
    ("presenter-1", "presenter"),
    ("receiver-1", "receiver"),
    ("receiver-2", "receiver"),
)
DISK_BYTES = 1_073_741_824
ASK_TIMEOUT_S = 2.0
# The defaults are 10 s and 10 min. At 1 s and 15 s the archive took more than half a core of two.
ARCHIVE_INTERVAL_MS = 3_000
ARCHIVE_UPKEEP_MS = 30_000
NODES = tuple(node for node, _ in PLAN)
HOSTS = (*NODES, *SERVER_HOSTS, CLIENTS)


@dataclass
class Site:
    """What runs. `settings` lead past the network, straight to the servers."""

    directory: Path
    bus: BusServers
    servers: EmbeddedServers
    network: Network
    settings: Settings
    session: aiohttp.ClientSession
    disk: Path | None
    lake: Lake
    processes: dict[str, ServiceProcess] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    ended: list[str] = field(default_factory=list)
    log: LogName = field(default=LogName(APP))

    def of(self, service: str) -> list[ServiceProcess]:
        """The processes of one service."""
        return [each for each in self.processes.values() if each.service == service]

    @property
    def addresses(self) -> Addresses:
        """Of the first of each."""
        receiver, presenter, coordinator = (
            self.of(name)[0].url for name in ("receiver", "presenter", "coordinator")
        )
        return Addresses(receiver, presenter, coordinator)

    def clock_of(self, node: str) -> Path:
        """The file that moves the node's wall clock."""
        return self.directory / f"{node}.clock"

    async def kill(self, *nodes: str) -> None:
        """SIGKILL; they stay down until `start`."""
        self.down |= set(nodes)
        await asyncio.gather(*(self.processes[node].kill() for node in nodes))

    def start(self, *nodes: str) -> None:
        """Starts what was killed, or ended."""
        self.down -= set(nodes)
        for node in nodes:
            self.processes[node].start()

    def revive(self) -> None:
        """Starts what ended by itself, as a supervisor would, and notes it in `ended`."""
        for node, process in self.processes.items():
            if process.pid is None and node not in self.down:
                self.ended.append(node)
                process.start()

    async def status(self, app: str = APP) -> dict[str, Any]:
        """An app's replicas and sinks, from a coordinator that answers; {} when none does."""
        for coordinator in self.of("coordinator"):
            answer = await self.ask(f"{coordinator.url}/v1/apps/{app}/status")
            if answer is not None:
                return answer
        return {}

    async def ask(self, url: str) -> dict[str, Any] | None:
        """The JSON of a GET that went well, else None."""
        try:
            async with self.session.get(url) as response:
                found: dict[str, Any] | None = await response.json() if response.ok else None
                return found
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None

    async def roles(self) -> tuple[str | None, list[str]]:
        """(active processor, ready standbys), as the coordinator knows them now."""
        replicas = (await self.status()).get("replicas", [])
        active = [r["node"] for r in replicas if r["role"] == "active"]
        standbys = [r["node"] for r in replicas if r["role"] != "active" and r["ready"]]
        return (active[0] if active else None), standbys


@contextlib.asynccontextmanager
async def running_site(
    directory: Path, overrides: Mapping[str, str], network: Network, bus: str
) -> AsyncIterator[Site]:
    """All of it, started; everything is stopped after the block."""
    prepare_spark_environment()
    async with contextlib.AsyncExitStack() as stack:
        machines = [network.machine(host) for host in BUS_HOSTS]
        carrier = await stack.enter_async_context(bus_servers(bus, directory / bus, machines))
        disk = stack.enter_context(_small_disk(directory / "servers" / "postgres", DISK_BYTES))
        lake_disk = stack.enter_context(_small_disk(directory / "disk-of-lake", LAKE_BYTES))
        lake = lake_in(directory, lake_disk)
        servers = await stack.enter_async_context(
            EmbeddedServers.start(
                directory / "servers",
                want=("redis", "postgres"),
                machines={"redis": network.machine(REDIS), "postgres": network.machine(POSTGRES)},
            )
        )
        assert servers.redis is not None
        assert servers.postgres is not None
        # Brokers tell clients where they are, so no proxy can stand in front of them.
        ports = dict(zip(BUS_HOSTS, carrier.ports, strict=True)) if bus == "nats" else {}
        ports |= {REDIS: servers.redis.port, POSTGRES: servers.postgres.port}
        await stack.enter_async_context(network.joined(NODES, ports))
        timeout = aiohttp.ClientTimeout(total=ASK_TIMEOUT_S)
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout))
        overrides = {**overrides, **lake.settings(ARCHIVE_INTERVAL_MS, ARCHIVE_UPKEEP_MS)}
        straight = {
            **overrides,
            "LOCKSTEP_BUS__KIND": bus,
            "LOCKSTEP_BUS__URL": carrier.url(carrier.urls),
            "LOCKSTEP_LEADER__URL": servers.redis_url,
            "LOCKSTEP_STORE__POSTGRES_DSN": servers.postgres_dsn,
        }
        settings = load_settings({**os.environ, **straight})
        site = Site(directory, carrier, servers, network, settings, session, disk, lake)
        site.processes.update(_planned(site, overrides))
        try:
            site.start(*site.processes)
            yield site
        finally:
            network.mend()
            await asyncio.gather(*(process.stop() for process in site.processes.values()))


def _planned(site: Site, overrides: Mapping[str, str]) -> dict[str, ServiceProcess]:
    logs = site.directory / "logs"
    logs.mkdir()
    planned = {}
    for node, service in PLAN:
        set_offset(site.clock_of(node), 0)
        machine = site.network.machine(node)
        own = {
            **overrides,
            **_addresses_for(site, node),
            "LOCKSTEP_SERVER__HOST": machine.host,
            "LOCKSTEP_SERVER__ALLOW_OPEN_HOST": "true",  # open to the hosts of the run alone
            "LOCKSTEP_SPARK__STATE_DIRECTORY": str(site.directory / "spark" / node),
            CLOCK_VARIABLE: str(site.clock_of(node)),
        }
        planned[node] = ServiceProcess(
            node, service, own, logs / f"{node}.log", module="tests.chaos.service", machine=machine
        )
    return planned


def _addresses_for(site: Site, node: str) -> dict[str, str]:
    """Of the servers, as this node shall use them."""
    url = site.network.url
    bus_urls = site.bus.urls
    if site.bus.kind == "nats":
        hosts = zip(BUS_HOSTS, site.bus.urls, strict=True)
        bus_urls = [url(node, host, each) for host, each in hosts]
    return {
        "LOCKSTEP_BUS__KIND": site.bus.kind,
        "LOCKSTEP_BUS__URL": site.bus.url(bus_urls),
        "LOCKSTEP_LEADER__URL": url(node, REDIS, site.servers.redis_url),
        "LOCKSTEP_STORE__POSTGRES_DSN": url(node, POSTGRES, site.servers.postgres_dsn),
    }


@contextlib.contextmanager
def _small_disk(directory: Path, size_bytes: int) -> Any:
    """A disk of its own that can be filled; None when that is not allowed here."""
    directory.mkdir(parents=True, mode=0o700)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=700", "tmpfs"]
    allowed = os.geteuid() == 0
    if allowed:
        done = subprocess.run([*mounting, str(directory)], check=False, capture_output=True)
        allowed = done.returncode == 0
    try:
        yield directory if allowed else None
    finally:
        if allowed:
            subprocess.run(["umount", "--lazy", str(directory)], check=False)
