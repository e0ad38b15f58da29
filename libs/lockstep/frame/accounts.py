"""The accounts as a process knows them: read again when they have changed, with a bound on how old
they may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.rights.accounts import Change, Directory, checked, directory, stale, stored
from lockstep.settings import RightsSettings
from lockstep.store import Accounts
from lockstep.telemetry import Logger

LOOK_AGAIN_MS: Final = 250
MAX_ATTEMPTS: Final = 20


class AccountBook:
    """`directory` is what is known; who asks for it asks `check_fresh` first."""

    def __init__(
        self, accounts: Accounts, clock: Clock, settings: RightsSettings, log: Logger
    ) -> None:
        self._accounts = accounts
        self._clock = clock
        self._settings = settings
        self._log = log
        self._read_ms: int | None = None
        self._looked_ms = clock.monotonic_ms() - LOOK_AGAIN_MS
        self._looks = 0
        self._looking = asyncio.Lock()
        self.directory = Directory()
        self.looked: list[Callable[[], None]] = []
        """Called after each look, also one that reached no store: callers may not be what they
        were, and tokens run out by the clock alone."""

    async def refresh(self) -> None:
        """Looks now; UnavailableError."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        self._looks += 1
        self._looked_ms = self._clock.monotonic_ms()
        if self._read_ms is None or await self._accounts.revision() != self.directory.revision:
            self.directory = directory(*await self._accounts.read())
        self._read_ms = self._looked_ms
        self._tell()

    def _tell(self) -> None:
        for each in self.looked:
            each()

    @property
    def is_read(self) -> bool:
        """The store was reached once at least."""
        return self._read_ms is not None

    async def begin(self) -> None:
        """Looks if that is possible; a process that needs no store does not wait for it."""
        try:
            await self.refresh()
        except UnavailableError as error:
            self._log.warning("cannot read users and tokens", error=str(error))
            self._tell()

    async def run(self) -> None:
        """Looks for as long as the process lives."""
        while True:
            await self._clock.sleep_ms(self._settings.refresh_ms)
            await self.begin()

    async def look_again(self) -> None:
        """Something is not known: it may be newer than what was read. Not too often, as anybody may
        ask for what is not there: who comes soon after a look waits for the next, which is one for
        all who wait. UnavailableError."""
        before = self._looks
        await self._clock.sleep_ms(self._looked_ms + LOOK_AGAIN_MS - self._clock.monotonic_ms())
        async with self._looking:
            if self._looks == before:
                await self._look()

    def check_fresh(self) -> None:
        """UnavailableError where what is known is older than it may be."""
        now_ms = self._clock.monotonic_ms()
        if self._read_ms is None or now_ms - self._read_ms > self._settings.stale_max_ms:
            raise UnavailableError(
                "who may come in is not known: the store of users and tokens cannot be reached",
                hint="the cluster's token is still taken",
            )

    async def change(self, decide: Callable[[Directory], Change]) -> Directory:
        """What `decide` makes of the accounts as they are; it is asked again when somebody else was
        quicker. AccountError, UnavailableError."""
        for _ in range(MAX_ATTEMPTS):
            before = directory(*await self._accounts.read())
            change = decide(before)
            after = checked(before, change)
            if len(after.users) + len(after.groups) + len(after.tokens) > self._limit(before):
                raise UnavailableError(
                    f"there are {self._settings.max_accounts} users, groups and tokens",
                    hint="remove some, or raise rights.max_accounts",
                )
            put = [stored(one) for one in change.put]
            remove = [*change.remove, *stale(before, self._clock.now_ms())]
            if await self._accounts.change(put, remove, expected=before.revision):
                await self.refresh()
                return self.directory
        raise UnavailableError("the users and tokens change too often just now")

    def _limit(self, before: Directory) -> int:
        """One that was lowered since lets everything go, and nothing come."""
        there = len(before.users) + len(before.groups) + len(before.tokens)
        return max(self._settings.max_accounts, there)
