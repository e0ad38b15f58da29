"""How much the metrics of apps tell: as somebody has put it, else as their texts have it. Every
write carries the leading coordinator's epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from lockstep.control.catalogue import level_of
from lockstep.events import Life, LockstepError
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment, Store
from lockstep.telemetry import Level, Logger
from lockstep_services.coordinator.desired import DesiredState, Epoch, nudged

ANNOTATION: Final = "statistics"


class Levels:
    """Of all apps. A level that was put stays until the app is undeployed."""

    def __init__(self, store: Store, desired: DesiredState, epoch: Epoch, log: Logger) -> None:
        self._store = store
        self._desired = desired
        self._epoch = epoch
        self._log = log
        self._silent_texts: dict[str, tuple[Life, bool]] = {}

    async def all(self) -> dict[str, Level]:
        """By app; not of one whose text is not valid here."""
        put = await self._store.deployments.levels()
        found: dict[str, Level] = {}
        for one in await self._desired.list():
            with contextlib.suppress(SiddhiQLError):
                found[one.app] = level_of(await self._desired.plan(one.text, runs=True), put)
        return found

    async def silent(self, deployments: Sequence[Deployment]) -> list[str]:
        """Those of the apps whose metrics tell nothing. Of a thousand apps in each round: a text is
        read once, and only if it says something of levels. UnavailableError."""
        put = await self._store.deployments.levels()
        known, self._silent_texts = self._silent_texts, {}
        found: list[str] = []
        for one in deployments:
            life, is_silent = known.get(one.app, (None, False))
            if life != one.life:
                is_silent = await self._is_silent(one.text)
            self._silent_texts[one.app] = (one.life, is_silent)
            if put[one.app] == Level.OFF if one.app in put else is_silent:
                found.append(one.app)
        return found

    async def _is_silent(self, text: str) -> bool:
        if ANNOTATION not in text.lower():
            return False
        with contextlib.suppress(LockstepError):  # its round places other apps, too
            return level_of(await self._desired.plan(text, runs=True), {}) is Level.OFF
        return False

    async def put(self, app: str, level: Level) -> None:
        """From now on; Problem when it raced."""
        put = self._store.deployments.put_level
        await self._epoch.write(app, lambda epoch: put(app, level, epoch=epoch))
        self._log.info("level of metrics", app=app, level=level)
        await nudged(self._desired, self._log)
