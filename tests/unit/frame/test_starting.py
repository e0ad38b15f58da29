"""The start of a process: servers that are away are waited for, and nobody announces a wildcard."""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import AsyncIterator
from typing import ClassVar

import aiohttp
import pytest
import pytest_asyncio

from lockstep.clock import SystemClock, SystemRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import Context
from lockstep.frame.addresses import outward_address
from lockstep.frame.lifecycle import Process
from lockstep.frame.world import World, open_world
from lockstep.settings import Settings, load_settings

MEMORY = {f"LOCKSTEP_{each}__KIND": "memory" for each in ("BUS", "LEADER", "STORE")}


class Prompt:
    """A service that needs the bus."""

    needs: ClassVar = frozenset({"bus"})
    away_for: ClassVar = 0

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tries = 0

    async def start(self) -> None:
        """See Service."""
        self.tries += 1
        self.context.tasks.supervise("follow", self._follow)
        if self.tries <= self.away_for:
            raise UnavailableError("the store does not answer")

    async def _follow(self) -> None:
        await asyncio.Event().wait()

    async def drain(self) -> None:
        """See Service."""

    async def stop(self) -> None:
        """See Service."""


class Late(Prompt):
    """Its store answers at the third try."""

    away_for = 2


class RefusedError(UnavailableError):
    """As of a wrong password."""

    retryable = False


class Refused(Prompt):
    """Its store does not let it in, however often it tries."""

    async def start(self) -> None:
        """See Service."""
        self.tries += 1
        raise RefusedError("the store refuses us")


class Telling(Prompt):
    """It asks for its own metrics when it starts and when it drains. `trouble`: what keeps it from
    being ready."""

    trouble: str | None = None

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.told: list[str] = []

        async def check() -> str | None:
            return self.trouble

        context.readiness.register("trouble", check)

    async def tell(self) -> None:
        """Notes what the gauge says now."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.context.url()}/metrics") as response,
        ):
            lines = (await response.text()).splitlines()
        (line,) = [line for line in lines if line.startswith("lockstep_ready{")]
        self.told.append(line)

    async def start(self) -> None:
        """See Service."""
        await self.tell()

    async def drain(self) -> None:
        """See Service."""
        await self.tell()


class Away:
    """A server of the world that never answers."""

    process = "away"

    @property
    def accounts(self) -> Away:
        """See Store."""
        return self

    @property
    def audit(self) -> Away:
        """See Store."""
        return self

    async def revision(self) -> int:
        """See Accounts."""
        raise UnavailableError("the store is away")

    async def read(self) -> object:
        """See Accounts."""
        raise UnavailableError("the store is away")

    async def healthy(self) -> bool:
        """See Leases."""
        return False

    async def appear(self) -> None:
        """See Leases."""
        raise UnavailableError("the lease server is away")

    async def connected(self, _processes: object) -> frozenset[str]:
        """See Leases."""
        raise UnavailableError("the lease server is away")

    async def close(self) -> None:
        """See Leases."""


def settings_of(**given: str) -> Settings:
    """Memory for everything; some values of the server section."""
    own = {f"LOCKSTEP_SERVER__{name.upper()}": value for name, value in given.items()}
    return load_settings({**MEMORY, **own})


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    """Everything in memory."""
    opened = await open_world(settings_of(), SystemClock(), SystemRandomness())
    yield opened
    await opened.close()


async def started(
    world: World, settings: Settings, kind: type[Prompt] = Prompt
) -> tuple[Process, Prompt]:
    """A process with a service."""
    process = Process(settings, world, SystemClock(), SystemRandomness())
    service = process.add("one", kind)
    assert isinstance(service, kind)
    await process.start()
    return process, service


async def test_a_server_that_comes_late_is_waited_for(world: World) -> None:
    """The start is tried again, without what the last try had begun."""
    process, service = await started(world, settings_of(), Late)
    try:
        assert service.tries == 3
        assert service.context.tasks.names == {"follow"}
    finally:
        await process.stop()


async def test_a_server_that_refuses_is_not_waited_for(world: World) -> None:
    """Whoever starts the process is told at once."""
    process = Process(settings_of(), world, VirtualClock(), SystemRandomness())
    service = process.add("one", Refused)
    assert isinstance(service, Refused)
    try:
        with pytest.raises(RefusedError):
            await process.start()
        assert service.tries == 1
    finally:
        await process.stop()


async def test_who_needs_the_bus_alone_is_ready_without_the_others(world: World) -> None:
    """Only what a service needs counts."""
    lonely = World(world.bus, Away(), Away())  # type: ignore[arg-type]
    process, _ = await started(lonely, settings_of())
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{process.running.url}/readyz") as response,
        ):
            body = await response.json()
        assert (response.status, set(body["checks"])) == (200, {"service", "bus"})
        assert (body["node"], body["pid"]) == (process.node, os.getpid())
    finally:
        await process.stop()


async def test_metrics_say_whether_a_process_is_ready(world: World) -> None:
    """Not while it starts or drains, and not while a check fails."""
    process, service = await started(world, settings_of(), Telling)
    assert isinstance(service, Telling)
    try:
        await service.tell()
        service.trouble = "the disk is full"
        await service.tell()
        service.trouble = None
        await service.tell()
    finally:
        await process.stop()
    values = [line.removeprefix('lockstep_ready{service="one"} ') for line in service.told]
    assert values == ["0.0", "1.0", "0.0", "1.0", "0.0"]


async def test_metrics_say_when_their_counters_began(world: World) -> None:
    """From the process's making on, which is before anything is counted: alerts go by it."""
    clock = VirtualClock(1_772_359_200_500)
    process = Process(settings_of(), world, clock, SystemRandomness())
    service = process.add("one", Prompt)
    assert isinstance(service, Prompt)
    began = service.context.metrics.value("lockstep_process_start_time_seconds")
    await process.stop()
    assert began == 1_772_359_200.5


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_outward_address_is_one_that_others_can_reach(host: str) -> None:
    """Of the same family, and never the wildcard itself."""
    found = ipaddress.ip_address(outward_address(host))
    assert found.version == ipaddress.ip_address(host).version
    assert not found.is_unspecified


async def test_a_wildcard_is_never_announced(world: World) -> None:
    """Who listens everywhere says where; an advertised address has precedence."""
    process, _ = await started(world, settings_of(host="0.0.0.0", token="s3cret"))
    try:
        assert process.running.url.startswith(f"http://{outward_address('0.0.0.0')}:")
    finally:
        await process.stop()
