"""The leases of a process together: one request renews all of them, one looks which are vacant."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from msgspec.structs import replace

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.leader.contract import Held, Lease, Leases
from lockstep.leader.lateness import LeaseLife
from lockstep.telemetry import Logger

POLL_MS: Final = 25
LOOKED_AT_PER_MS: Final = 3
"""A look at so many leases of others puts the next one off by one more: up to half a life."""


class Watcher(Protocol):
    """Of one resource."""

    def lost(self) -> None:
        """The lease server says that it is not ours any more."""

    def vacant(self) -> None:
        """Nobody holds it, or it is reserved for us."""

    def taken(self, held: Held) -> None:
        """Somebody else holds it now."""


class LeaseRoll:
    """`run` in one task; the holder of every lease is this process.

    A lease that was acquired here is renewed every `renew_ms` until it is released or lost: then
    its watcher is told. Who watches a resource that is not held here is told every `retry_ms` that
    it is vacant, as long as it is, and who holds it whenever that changes. While the lease server
    is away, leases run out there as for any other holder. A process that is held up again and again
    asks for leases that live longer, up to `ttl_max_ms`: see `LeaseLife`.
    """

    def __init__(
        self,
        leases: Leases,
        holder: str,
        clock: Clock,
        log: Logger,
        *,
        ttl_ms: int,
        ttl_max_ms: int,
        renew_ms: int,
        retry_ms: int,
    ) -> None:
        self._leases = leases
        self._holder = holder
        self._clock = clock
        self._log = log
        self._ttl_ms = ttl_ms
        self._life = LeaseLife(ttl_ms, ttl_max_ms)
        self._renew_ms = renew_ms
        self._retry_ms = retry_ms
        self._held: dict[str, Lease] = {}
        # What the last renewal was about, and until when it lasts. As long as the same leases are
        # held it is the same tuple, which costs least: see `Leases.renew_all`.
        self._together: tuple[Lease, ...] = ()
        self._renewed: dict[str, Lease] = {}
        self._until_ms = 0
        self._watchers: dict[str, Watcher] = {}
        self._others: dict[str, Held] = {}
        # What is given back must not be taken again by a renewal that is on its way.
        self._renewing = asyncio.Lock()
        self._looked_ms = clock.monotonic_ms() - ttl_ms
        self.contact_ms = clock.monotonic_ms()
        """When the lease server last answered."""
        self.is_away = False
        """It renewed nothing the last time when leases were to be renewed; where none is held here,
        it did not answer the last look. A server may answer looks and refuse to write."""

    def watch(self, resource: str, watcher: Watcher) -> None:
        """Until `forget`."""
        self._watchers[resource] = watcher

    async def forget(self, resource: str) -> None:
        """Watches it no more, and gives it back if it is held. UnavailableError: it runs out."""
        self._watchers.pop(resource, None)
        self._others.pop(resource, None)
        await self.release(resource)

    def lease(self, resource: str) -> Lease | None:
        """What was acquired here and is not known to be lost, though it may have run out."""
        lease = self._held.get(resource)
        if lease is None or self._renewed.get(resource) is not lease:
            return lease  # not renewed with the others yet
        return replace(lease, expires_at_monotonic_ms=self._until_ms)

    def other(self, resource: str) -> Held | None:
        """Who else holds it, as a look has told that is not older than a lease lives."""
        known_ms = self._clock.monotonic_ms() - self._looked_ms
        return self._others.get(resource) if known_ms < self._ttl_ms else None

    def doubt(self, resource: str) -> None:
        """It may have become free since the last look."""
        self._others.pop(resource, None)

    async def acquire(self, resource: str, *, instead_of: Held | None = None) -> Lease | Held:
        """See `Leases.acquire`. UnavailableError."""
        found = await self._leases.acquire(
            resource, self._holder, ttl_ms=self._life.ttl_ms, instead_of=instead_of
        )
        self.contact_ms = self._clock.monotonic_ms()
        if isinstance(found, Lease):
            self._held[resource] = found
        else:
            self._others[resource] = found
        return found

    async def renew(self, resource: str) -> bool:
        """Whether the lease server, asked now, says that it is ours. UnavailableError."""
        lease = self._held.get(resource)
        if lease is None:
            return False
        renewed = await self._leases.renew(replace(lease, ttl_ms=self._life.ttl_ms))
        self.contact_ms = self._clock.monotonic_ms()
        if self._is_held(lease):
            if renewed is None:
                del self._held[resource]
            else:
                self._held[resource] = renewed
        return resource in self._held

    async def release(self, resource: str) -> None:
        """Gives it back; UnavailableError: it runs out by itself."""
        async with self._renewing:
            lease = self._held.pop(resource, None)
        if lease is not None:
            await self._leases.release(lease)

    async def hand_over(self, resource: str, to: str) -> bool:
        """Reserves it for another holder; False when it was not ours. UnavailableError."""
        async with self._renewing:
            lease = self._held.pop(resource, None)
        return lease is not None and await self._leases.hand_over(lease, to)

    async def run(self) -> None:
        """Until cancelled; a lease server that is away is asked again."""
        renew_at_ms = look_at_ms = self._clock.monotonic_ms()
        while True:
            now_ms = self._clock.monotonic_ms()
            try:
                if self._held and now_ms >= renew_at_ms:
                    renew_at_ms = now_ms + self._retry_ms  # unless it succeeds
                    await self._renew_held()
                    renew_at_ms = now_ms + self._renew_ms
                if now_ms >= look_at_ms:
                    look_at_ms = now_ms + self._retry_ms
                    looked_at = await self._look_for_vacant()
                    many_ms = min(self._ttl_ms // 2, looked_at // LOOKED_AT_PER_MS)
                    look_at_ms = now_ms + max(self._retry_ms, many_ms)
            except UnavailableError as error:
                self._found_away(error)  # whoever needs a lease finds that out, too
            due_ms = self._clock.monotonic_ms() + POLL_MS
            await self._clock.sleep_ms(POLL_MS)
            now_ms = self._clock.monotonic_ms()
            self._life.woke(now_ms, now_ms - due_ms)
            match self._life.is_late():
                case True:
                    text = "this process wakes late: its leases live longer"
                    self._log.warning(text, ttl_ms=self._life.ttl_ms)
                case False:
                    self._log.info("this process wakes in time again", ttl_ms=self._life.ttl_ms)

    def _found_away(self, error: UnavailableError) -> None:
        if not self.is_away:
            self.is_away = True
            say = self._log.warning if error.retryable else self._log.error
            say("the lease server is away", held=len(self._held), error=str(error))

    def _found_there(self) -> None:
        if self.is_away:
            self.is_away = False
            self._log.info("the lease server is back", held=len(self._held))

    async def _renew_held(self) -> None:
        async with self._renewing:
            together = tuple(self._held.values())
            if together == self._together:
                together = self._together
            renewal = await self._leases.renew_all(together, ttl_ms=self._life.ttl_ms)
        if together is not self._together:
            self._together, self._renewed = together, {one.resource: one for one in together}
        self._until_ms = renewal.expires_at_monotonic_ms
        for resource in sorted(renewal.lost):
            if self._is_held(self._renewed[resource]):
                del self._held[resource]
                if resource in self._watchers:
                    self._watchers[resource].lost()
        self.contact_ms = self._clock.monotonic_ms()
        self._found_there()

    def _is_held(self, lease: Lease) -> bool:
        """It may have been released, or acquired anew, meanwhile."""
        held = self._held.get(lease.resource)
        return held is not None and held.token == lease.token

    async def _look_for_vacant(self) -> int:
        if self._watchers.keys() <= self._held.keys():
            return 0
        wanted = [each for each in self._watchers if each not in self._held]
        holders, reserved = await self._leases.holders(wanted), Held(self._holder, "")
        for resource in wanted:
            watcher, held = self._watchers.get(resource), holders.get(resource)
            if watcher is None or resource in self._held:
                continue  # forgotten or acquired meanwhile
            if held is None or held == reserved:
                self._others.pop(resource, None)
                watcher.vacant()
            elif held != self._others.get(resource):
                self._others[resource] = held
                watcher.taken(held)
        self._looked_ms = self.contact_ms = self._clock.monotonic_ms()
        if not self._held:  # what is held says more: a server short of memory answers looks
            self._found_there()
        return len(wanted)
