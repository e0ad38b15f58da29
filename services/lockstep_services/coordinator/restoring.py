"""Revisions as operators see them: which there are, wanting an app to go on with one of them, and
deleting those that nobody needs.

A restore is desired state: every replica hears of it in the same order as of deployments, and the
leading one decides at which position it happens (see the processor's DESIGN.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch
from lockstep.frame import Problem
from lockstep.store import Revision, Store, needed
from lockstep_services.coordinator.desired import DesiredState, unknown

DONE_LIMIT_MS: Final = 15_000
DONE_POLL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Restored:
    """`done` is False when no processor has carried it out yet: one will, as soon as it leads."""

    revision: str
    generation: int
    done: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """Ids of revisions that went, and of those that recovery needs."""

    deleted: Sequence[str]
    kept: Sequence[str]


class Restoring:
    """Over the store's revisions."""

    def __init__(
        self, desired: DesiredState, watch: HeartbeatWatch, store: Store, clock: Clock
    ) -> None:
        self._desired = desired
        self._watch = watch
        self._revisions = store.revisions
        self._clock = clock
        self._deciding = asyncio.Lock()  # what shall be restored is not deleted meanwhile

    async def revisions(self, app: str) -> Sequence[Revision]:
        """Newest first, of each unit, also of an app that was undeployed. Problem 404 when there is
        none."""
        known = await self._desired.known(app)
        if known is None:
            raise unknown(app)
        logs = await self._desired.layouts.logs(known)
        return [one for log in logs for one in await self._revisions.list(*log.key)]

    async def restore(self, app: str, revision: str | None) -> Restored:
        """Goes on with a verified revision of the deployed version, by default the newest. Returns
        when the leader has, or after a while. Problem 404, 409.
        """
        async with self._deciding:
            wanted = await self._wanted(app, revision)
            generation = (await self._desired.restore(app, wanted.id)).life.number
        return Restored(wanted.id, generation, await self._is_done(app, generation))

    async def _wanted(self, app: str, revision: str | None) -> Revision:
        deployment = await self._desired.get(app)
        verified = [one for one in await self.revisions(app) if one.verified]
        wanted = next((one for one in verified if revision in (None, one.id)), None)
        if wanted is None:
            what = "no verified revision" if revision is None else f"no revision '{revision}'"
            raise Problem(
                HTTPStatus.NOT_FOUND, f"'{app}' has {what}",
                hint="`lockstep revisions` lists them, `lockstep snapshot` takes one",
            )  # fmt: skip
        if wanted.version != deployment.version:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"revision '{wanted.id}' is of version {wanted.version[:12]},"
                f" deployed is {deployment.version[:12]}",
                hint="deploy the text of that version first",
            )
        return wanted

    async def delete(self, app: str, revision: str) -> None:
        """Deletes one. Problem 404 when it is not there, 409 when recovery needs it."""
        async with self._deciding:
            found = await self.revisions(app)
            if revision not in [one.id for one in found]:
                raise Problem(
                    HTTPStatus.NOT_FOUND,
                    f"'{app}' has no revision '{revision}'",
                    hint="`lockstep revisions` lists them",
                )
            if revision in await self._needed(app, found):
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"'{app}' needs revision '{revision}' to begin again",
                    hint="take a newer one first: `lockstep snapshot`;"
                    " undeploying with purge removes all",
                )
            await self._revisions.delete([revision])

    async def delete_all(self, app: str) -> Deleted:
        """Deletes all that recovery does not need. Problem 404 when there is no such app."""
        async with self._deciding:
            found = await self.revisions(app)
            if not found:
                await self._desired.get(app)
            kept = await self._needed(app, found)
            going = [one.id for one in found if one.id not in kept]
            await self._revisions.delete(going)
        return Deleted(going, [one.id for one in found if one.id in kept])

    async def _needed(self, app: str, found: Sequence[Revision]) -> set[str]:
        """Also what the app shall be restored to: that may still be on its way."""
        units: dict[tuple[str, int], list[Revision]] = {}
        for one in found:
            units.setdefault((one.group, one.partition), []).append(one)
        ids = {one.id for own in units.values() for one in needed(own)}
        for deployment in await self._desired.list():
            if deployment.app == app:
                restoration = deployment.origin.restoration
                ids |= set() if restoration is None else {restoration.revision}
        return ids

    async def _is_done(self, app: str, generation: int) -> bool:
        deadline_ms = self._clock.monotonic_ms() + DONE_LIMIT_MS
        while self._clock.monotonic_ms() < deadline_ms:
            active = [one for _, one in self._watch.groups(app) if one.role == "active"]
            if active and all(one.generation >= generation for one in active):
                return True
            await self._clock.sleep_ms(DONE_POLL_MS)
        return False
