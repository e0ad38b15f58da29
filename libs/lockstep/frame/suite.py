"""Whose servers these are: a suite's id is in its store, and its bus and lease server bear it.

Two suites over one bus would take each other's events and purge each other's apps, and over one
lease server only one of them would ever get a coordinator. So whoever finds servers of another
suite does not start.
"""

from __future__ import annotations

from typing import Final, Protocol

from lockstep.clock import Clock, Randomness
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.settings import Settings
from lockstep.store import Store
from lockstep.telemetry import get_logger

KIND: Final = "suite"
NAME: Final = "id"
LOOK_EVERY_MS: Final = 1_000
"""While the lease server is away: nobody waits for it at the start."""


class Owned(Protocol):
    """A server that bears whose it is."""

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """See `lockstep.bus.Bus` and `lockstep.leader.Leases`."""


class OtherSuiteError(LockstepError):
    """A server is another suite's."""

    fault = Fault.USER

    def __init__(self, server: str, setting: str, owner: str, suite: str) -> None:
        super().__init__(
            f"the {server} belongs to another suite ({owner}); this one is {suite}, as its store "
            "says",
            where=setting,
            hint="give each suite servers of its own: a NATS account or server, a Kafka prefix, a "
            "Redis database, a PostgreSQL database. If that suite is gone for good, or this store "
            f"was made anew, start with cluster.take_over = {owner}",
        )


async def suite_id(store: Store, settings: Settings, randomness: Randomness) -> str:
    """The id of the suite whose store this is; empty where the store ends with its process, as
    nobody could tell after that. Errors: UnavailableError."""
    if settings.store.kind == "memory":
        return ""
    # Who only looks needs no store that takes writes.
    found = await store.documents.get(KIND, NAME)
    return found or await store.documents.first(KIND, NAME, randomness.uuid_hex())


async def claim_bus(bus: Owned, suite: str, settings: Settings) -> None:
    """Errors: OtherSuiteError, UnavailableError."""
    await _claim(bus, "bus", "bus.url", suite, settings)


async def claim_leases(leases: Owned, suite: str, settings: Settings, clock: Clock) -> None:
    """Waits for the lease server. Errors: OtherSuiteError."""
    while True:
        try:
            return await _claim(leases, "lease server", "leader.url", suite, settings)
        except UnavailableError:  # those who need it say so
            await clock.sleep_ms(LOOK_EVERY_MS)


async def _claim(server: Owned, what: str, setting: str, suite: str, settings: Settings) -> None:
    former = settings.cluster.take_over
    owner = await server.owner(suite, instead_of=former)
    if owner != suite:
        raise OtherSuiteError(what, setting, owner, suite)
    if former not in ("", suite):
        get_logger().warning(
            "may take servers of a suite that is gone: unset cluster.take_over now",
            server=what, suite=suite, take_over=former,
        )  # fmt: skip
