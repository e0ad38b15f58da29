"""What a fault is given: the site, the load, the archive, its own randomness; and what it notes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp

from lockstep.clock import SystemClock
from tests.chaos.archive import Archive
from tests.chaos.fleet_archive import FleetArchive
from tests.chaos.load import Load
from tests.chaos.site import Site

CLOCK = SystemClock()
LEADER_LIMIT_MS = 60_000
POLL_S = 0.05
STEADY_MS = 3_000
STEADY_WITHIN_MS = 30_000
PAUSE_MS = 250
NODES = "/v1/nodes/"


@dataclass
class Scene:
    """One fault's surroundings."""

    site: Site
    load: Load
    archive: Archive
    fleet: FleetArchive
    random: Random
    limit_s: float
    """How long what is asked for may take."""

    failovers_ms: list[int] = field(default_factory=list)
    unit_failovers_ms: list[int] = field(default_factory=list)
    handovers_ms: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    note: str = ""

    async def hold(self, low_s: float, high_s: float) -> float:
        """Lets the fault last for a drawn time; gives it, in seconds."""
        seconds = self.random.uniform(low_s, high_s)
        await asyncio.sleep(seconds)
        return seconds

    def one_of(self, service: str) -> str:
        """A node that runs the service."""
        return self.random.choice([each.node for each in self.site.of(service)])

    async def active(self) -> str:
        """The leading processor; TimeoutError when nobody leads."""
        return (await self._known(lambda active, _: active is not None))[0] or ""

    async def standby(self) -> str:
        """A ready standby; TimeoutError when there is none."""
        return (await self._known(lambda _, standbys: bool(standbys)))[1][0]

    async def is_steady(self) -> bool:
        """Whether rows come without a pause for a while, now or soon: a bus that has been cut may
        choose its leaders once more when it is mended. On cores that are full they never do.
        """
        began_ms = CLOCK.monotonic_ms()
        while (now_ms := CLOCK.monotonic_ms()) - began_ms < STEADY_WITHIN_MS:
            since_ms = now_ms - STEADY_MS
            if since_ms >= began_ms:
                silence_ms = self.archive.longest_silence_ms(since_ms, now_ms)
                if silence_ms < PAUSE_MS:
                    return True
            await asyncio.sleep(POLL_S)
        return False

    async def next_leader(self, epoch: int, since_ms: int) -> int:
        """How long after `since_ms` rows of a later epoch came."""
        return await self.archive.rows_after_epoch(epoch, LEADER_LIMIT_MS) - since_ms

    async def until(self, app: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first status of the app that is like that; TimeoutError when none is."""
        status: dict[str, Any] = {}
        try:
            async with asyncio.timeout(self.limit_s):
                while True:
                    self.site.revive()
                    status = await self.site.status(app)
                    if status and reached(status):
                        return status
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise TimeoutError(f"not in {self.limit_s:.0f} s: {status}") from None

    async def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """What the coordinator answers once it does; asked again while it cannot."""
        url = f"{self.site.of('coordinator')[0].url}{path}"
        async with asyncio.timeout(self.limit_s):
            while (answer := await self._asked(method, url, body)) is None:
                await asyncio.sleep(POLL_S)
        return answer

    async def _asked(self, method: str, url: str, body: object) -> dict[str, Any] | None:
        """None: to be asked again, which changes nothing where it was done."""
        try:
            async with self.site.session.request(method, url, json=body) as response:
                if response.status == 404 and NODES in url:
                    return None  # what was cut off until just now is not heard of again yet
                if response.status in (400, 404, 409, 422):
                    told = await response.text()
                    raise AssertionError(f"{method} {url}: {response.status} {told}")
                answer: dict[str, Any] | None = await response.json() if response.ok else None
                return answer
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None

    async def _known(
        self, wanted: Callable[[str | None, list[str]], bool]
    ) -> tuple[str | None, list[str]]:
        async with asyncio.timeout(LEADER_LIMIT_MS / 1_000):
            while True:
                active, standbys = await self.site.roles()
                if wanted(active, standbys):
                    return active, standbys
                await asyncio.sleep(POLL_S)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault: made, held and mended by `happen`; `copies` in the deck it is drawn from;
    `bus`: only where that is the bus."""

    name: str
    happen: Callable[[Scene], Awaitable[None]]
    copies: int
    bus: str | None = None

    @property
    def meaning(self) -> str:
        """What it does, in a line."""
        return (self.happen.__doc__ or "").strip().partition("\n")[0]


FAULTS: dict[str, Fault] = {}


def faults_of(bus: str) -> list[Fault]:
    """Those that can be made where that is the bus."""
    return [fault for fault in FAULTS.values() if fault.bus in (None, bus)]


def fault(
    name: str, *, copies: int = 1, bus: str | None = None
) -> Callable[[Callable[[Scene], Awaitable[None]]], Callable[[Scene], Awaitable[None]]]:
    """Registers a coroutine as a kind of fault."""

    def register(happen: Callable[[Scene], Awaitable[None]]) -> Callable[[Scene], Awaitable[None]]:
        FAULTS[name] = Fault(name, happen, copies, bus)
        return happen

    return register
