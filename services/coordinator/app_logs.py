"""Which logs an app goes on in, and how they go: an earlier app of its name may have left some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lockstep.bus import Bus, LogName
from lockstep.clock import Clock
from lockstep.frame import LOG_SINCE_SETTING
from lockstep.store import Deployment, Store

LET_GO_LIMIT_MS: Final = 10_000
LET_GO_POLL_MS: Final = 50
ORIGIN: Final = "origin_position"


class AppLogs:
    """Of all apps. `carried`: whether a living processor carries an app."""

    def __init__(
        self, store: Store, bus: Bus, clock: Clock, carried: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._carried = carried

    async def found_by(self, app: str, now_ms: int) -> tuple[int, Mapping[str, str]]:
        """When a new app counts as deployed, and the settings that say which logs it goes on in.

        Wall clocks may go back; what comes later still bears a later time.
        """
        name = LogName(app)
        _, end = await (await self._bus.input_log(name)).bounds()
        tail = await (await self._bus.output_log(name)).tail()
        since_ms = await self._store.cursors.get(_log_since(app))
        if tail.sequence == 0:
            since_ms = max(now_ms, since_ms + 1)
        earlier_ms = 0 if tail.generation is None else tail.generation.deployed_ms
        own = {ORIGIN: str(end), **({LOG_SINCE_SETTING: str(since_ms)} if since_ms else {})}
        return max(now_ms, since_ms, earlier_ms + 1), own

    async def remember(self, before: Deployment) -> None:
        """For who deploys an app of that name again: since when there are the logs it finds."""
        since_ms = int(before.settings.get(LOG_SINCE_SETTING, "0"))
        if since_ms:
            await self._store.cursors.put(_log_since(before.app), since_ms)

    async def purge(self, app: str, before: Deployment | None) -> bool:
        """Removes logs, revisions and cursors once nobody carries the app any more; also of an app
        that is not deployed, as whoever began to purge it may have been lost. False when it has
        been deployed again meanwhile.
        """
        await self._let_go(app)
        if await self._store.deployments.get(app) is not None:
            return False
        await self._bus.remove_logs(LogName(app))
        await self._store.revisions.remove_app(app)
        removed_ms = await self._store.cursors.get(_log_since(app))
        removed_ms = max(removed_ms, 0 if before is None else before.created_ms)
        await self._store.cursors.remove_app(app)
        if removed_ms:
            # Whatever is deployed under that name later counts as later.
            await self._store.cursors.put(_log_since(app), removed_ms)
        return True

    async def _let_go(self, app: str) -> None:
        """Waits until no living processor carries the app: none shall write to a removed log."""
        deadline_ms = self._clock.monotonic_ms() + LET_GO_LIMIT_MS
        while self._carried(app) and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(LET_GO_POLL_MS)


def _log_since(app: str) -> str:
    """Where the store keeps LOG_SINCE_SETTING of an app that is not deployed."""
    return f"{app}/{LOG_SINCE_SETTING}"
