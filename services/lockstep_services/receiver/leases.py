"""The leases by which one receiver at a time reads a table or a source, and how they end.

What a database keeps for a reader has to go when nobody reads any more. That is done beside what
begins meanwhile: a database may be slow, and another receiver may hold the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from lockstep.frame import LeaseKeeper, Tasks
from lockstep.telemetry import Logger

ENDS_AT_ONCE: Final = 4
"""Of so many tables or sources at a time a receiver tells databases to forget."""
BEYOND_TTL_MS: Final = 1_000
"""So much longer than a lease lives whoever held it has to end, or has died."""


class ReaderLeases:
    """Of one kind of what is read. Names are unique among those of all apps."""

    def __init__(
        self,
        kind: str,
        keeper_of: Callable[[str], LeaseKeeper],
        tasks: Tasks,
        log: Logger,
        *,
        lease_ttl_ms: int,
    ) -> None:
        self._kind = kind
        self._keeper_of = keeper_of
        self._tasks = tasks
        self._log = log
        self._leaves_ms = lease_ttl_ms + BEYOND_TTL_MS
        self._keepers: dict[str, LeaseKeeper] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(ENDS_AT_ONCE)

    def held(self, name: str) -> bool:
        """Whether this receiver is the one that reads it."""
        keeper = self._keepers.get(name)
        return keeper is not None and keeper.held

    async def keep(self, name: str) -> LeaseKeeper:
        """For who wants to read it; behind an end of the same name."""
        while (ending := self._ending.get(name)) is not None:
            await asyncio.wait([ending])
        keeper = self._keepers.get(name)
        if keeper is None:
            keeper = self._keepers[name] = self._begun(name)
        return keeper

    async def let_go(self, name: str) -> None:
        """Another receiver may read it at once."""
        keeper = self._keepers.pop(name, None)
        if keeper is not None:
            await self._release(name, keeper)

    def end(
        self, name: str, is_wanted: Callable[[], bool], forget: Callable[[], Awaitable[None]]
    ) -> None:
        """Lets it go when the database has been told to `forget`, unless it `is_wanted` by then.
        Every receiver sees to it, as none may hold the lease; whoever does comes first."""
        before, keeper = self._ending.get(name), self._keepers.pop(name, None)
        ending = asyncio.create_task(self._end(name, before, keeper, is_wanted, forget))
        self._ending[name] = ending
        ending.add_done_callback(partial(self._ended, name))

    async def stop(self) -> None:
        """Gives up the ends that are under way: other receivers see to them, too."""
        ending = list(self._ending.values())
        for each in ending:
            each.cancel()
        if ending:
            await asyncio.wait(ending)

    async def _end(
        self,
        name: str,
        before: asyncio.Task[None] | None,
        keeper: LeaseKeeper | None,
        is_wanted: Callable[[], bool],
        forget: Callable[[], Awaitable[None]],
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        if keeper is None:  # it had not begun, for it waited for an end before
            keeper = self._begun(name)
        try:
            await keeper.wait_held(self._leaves_ms)
            async with self._turns:
                if not is_wanted():
                    await forget()
        finally:
            await self._release(name, keeper)

    def _ended(self, name: str, ending: asyncio.Task[None]) -> None:
        if self._ending.get(name) is ending:
            del self._ending[name]
        error = None if ending.cancelled() else ending.exception()
        if error is not None:
            self._log.error("an end failed", of=f"{self._kind}/{name}", error=repr(error))

    def _begun(self, name: str) -> LeaseKeeper:
        keeper = self._keeper_of(f"{self._kind}/{name}")
        self._tasks.supervise(f"{self._kind}-lease-{name}", keeper.run)
        return keeper

    async def _release(self, name: str, keeper: LeaseKeeper) -> None:
        await self._tasks.stop(f"{self._kind}-lease-{name}")
        await keeper.release()
