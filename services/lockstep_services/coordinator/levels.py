"""How much the metrics of apps tell: as somebody has put it, else as their texts have it. Every
write carries the leading coordinator's epoch."""

from __future__ import annotations

import contextlib

from lockstep.control.catalogue import level_of
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Store
from lockstep.telemetry import Level, Logger
from lockstep_services.coordinator.desired import DesiredState, Epoch, nudged


class Levels:
    """Of all apps. A level that was put stays until the app is undeployed."""

    def __init__(self, store: Store, desired: DesiredState, epoch: Epoch, log: Logger) -> None:
        self._store = store
        self._desired = desired
        self._epoch = epoch
        self._log = log

    async def all(self) -> dict[str, Level]:
        """By app; not of one whose text is not valid here."""
        put = await self._store.deployments.levels()
        found: dict[str, Level] = {}
        for one in await self._desired.list():
            with contextlib.suppress(SiddhiQLError):
                found[one.app] = level_of(await self._desired.plan(one.text, runs=True), put)
        return found

    async def put(self, app: str, level: Level) -> None:
        """From now on; Problem when it raced."""
        put = self._store.deployments.put_level
        await self._epoch.write(app, lambda epoch: put(app, level, epoch=epoch))
        self._log.info("level of metrics", app=app, level=level)
        await nudged(self._desired, self._log)
