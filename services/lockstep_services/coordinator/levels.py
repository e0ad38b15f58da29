"""How much the metrics of apps tell: as somebody has put it, else as their texts have it. Every
write carries the leading coordinator's epoch."""

from __future__ import annotations

from lockstep.control.catalogue import level_of
from lockstep.events import UnavailableError
from lockstep.store import Store, Written
from lockstep.telemetry import Level, Logger
from lockstep_services.coordinator.desired import MAX_ATTEMPTS, DesiredState, Epoch, raced


class Levels:
    """Of all apps. A level that was put stays until the app is undeployed."""

    def __init__(self, store: Store, desired: DesiredState, epoch: Epoch, log: Logger) -> None:
        self._store = store
        self._desired = desired
        self._epoch = epoch
        self._log = log

    async def all(self) -> dict[str, Level]:
        """By app."""
        put = await self._store.deployments.levels()
        apps = await self._desired.list()
        return {one.app: level_of(await self._desired.plan(one.text), put) for one in apps}

    async def put(self, app: str, level: Level) -> None:
        """From now on; Problem when it raced."""
        for _ in range(MAX_ATTEMPTS):
            outcome = await self._store.deployments.put_level(app, level, epoch=self._epoch.number)
            if isinstance(outcome, Written):
                self._log.info("level of metrics", app=app, level=level)
                try:
                    await self._desired.nudge()
                except UnavailableError as error:
                    self._log.debug("everybody looks by and by", error=str(error))
                return
            self._epoch.pass_over(outcome.current)
        raise raced(app)
