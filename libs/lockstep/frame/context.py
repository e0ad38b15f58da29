"""What a service is handed: settings, clock, the opened world, routes, tasks, checks, log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from aiohttp import web

from lockstep.clock import Clock, Randomness
from lockstep.events import LockstepError
from lockstep.frame.accounts import AccountBook
from lockstep.frame.callers import Callers
from lockstep.frame.footprint import Footprint
from lockstep.frame.health import Readiness
from lockstep.frame.holders import HolderWatch
from lockstep.frame.offload import Offload
from lockstep.frame.openapi import Described
from lockstep.frame.tasks import Tasks
from lockstep.frame.world import World
from lockstep.leader.roll import LeaseRoll
from lockstep.plan import Plans
from lockstep.settings import Settings
from lockstep.telemetry import Logger, Metrics, Traces


@dataclass(frozen=True)
class Context:
    """The surroundings of one service in one process.

    `node` names the process in leases, placements and heartbeats. `url` gives the door's address
    once it is open. Routes are added to `router`, and described, while wiring, not later. `offload`
    takes what would hold up the event loop (reading app texts). `plans` are of the whole process.
    `footprint`: what the process takes of its host. `give_up` ends the process in good order,
    because of an error that no trying again mends.
    """

    service: str
    node: str
    settings: Settings
    clock: Clock
    randomness: Randomness
    world: World
    holders: HolderWatch
    leases: LeaseRoll
    router: web.UrlDispatcher
    describe: Callable[[Sequence[Described]], None]
    url: Callable[[], str]
    readiness: Readiness
    metrics: Metrics
    traces: Traces
    tasks: Tasks
    log: Logger
    offload: Offload
    accounts: AccountBook
    callers: Callers
    plans: Plans
    give_up: Callable[[LockstepError], None]
    footprint: Callable[[], Footprint]


class Service(Protocol):
    """The life of a service. The steps are called in this order, each once.

    `needs`: the servers of the world without which it is of no use ("bus", "leases", "store").
    While one of them is away the service is not ready; for others nobody is sent away.
    """

    needs: ClassVar[frozenset[str]]

    async def start(self) -> None:
        """Takes up work; ready when it returns. After an UnavailableError the tasks that it began
        are stopped, and it is called again."""

    async def drain(self) -> None:
        """Takes no new work and finishes what it began; the frame limits the time."""

    async def stop(self) -> None:
        """Gives everything back; tasks have been cancelled already."""


Wire = Callable[[Context], Service]
"""Builds a service from its context: adds routes and checks, starts nothing."""
