"""Revisions as operators see them: which there are, wanting an app to go on with one of them, and
deleting those that nobody needs.

A restore is desired state: every replica hears of it in the same order as of deployments, and the
leading one decides at which position it happens (see the processor's DESIGN.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final

from lockstep.bus import Bus
from lockstep.clock import Clock
from lockstep.control import Command, HeartbeatWatch, log_of
from lockstep.control.endings import ending_id, endings_of
from lockstep.events import Life
from lockstep.frame import Problem
from lockstep.store import Deployment, Origin, Restoration, Revision, Store, beginnings, needed
from lockstep_services.coordinator.api import ask_leader
from lockstep_services.coordinator.desired import DesiredState, raced, unknown
from lockstep_services.coordinator.going_back import BackWish, FoundBack, GoingBack
from lockstep_services.coordinator.pasts import Pasts
from lockstep_services.coordinator.status import summary

DONE_LIMIT_MS: Final = 15_000
DONE_POLL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Restored:
    """`done` is False when no processor has carried it out yet: one will, as soon as it leads."""

    revision: str
    generation: int
    done: bool


@dataclass(frozen=True, slots=True)
class WentBack:
    """What was found for a time, and in which generation the app goes on so. `done`: it does
    already; where it is folded first, that is never so."""

    found: FoundBack
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
        self,
        desired: DesiredState,
        going_back: GoingBack,
        pasts: Pasts,
        watch: HeartbeatWatch,
        store: Store,
        bus: Bus,
        clock: Clock,
    ) -> None:
        self._desired = desired
        self._going_back = going_back
        self._pasts = pasts
        self._watch = watch
        self._revisions = store.revisions
        self._bus = bus
        self._clock = clock
        self._deciding = asyncio.Lock()  # what shall be restored is not deleted meanwhile

    async def revisions(self, app: str) -> Sequence[Revision]:
        """Newest first: the ends of a fleet's layouts, then those of each unit. Also of an app that
        was undeployed. Problem 404 when there is none."""
        known = await self._known(app)
        return [*await self._endings(known), *await self._of_units(known)]

    async def snapshot(self, app: str) -> str:
        """The id of a revision of the present state, that can be gone back to. A fleet goes over to
        a next layout for it: all its units end at one position. Problem 404, 503."""
        one = await self._desired.get(app)
        if not one.layout:
            return (await ask_leader(self._bus, app, Command("snapshot"))).message
        following = await self._desired.renew(app, _as_it_is, "relaid", relaid=True)
        if not await self._is_done(following):
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"'{app}' is still going over to its layout {following.layout}",
                hint=f"then `lockstep revisions` has '{ending_id(one.layout)}'",
                retry_after_ms=DONE_LIMIT_MS,
            )
        return ending_id(one.layout)

    async def restore(self, app: str, revision: str | None) -> Restored:
        """Goes on with a verified revision of the deployed version, by default the newest. Returns
        when the leader has, or after a while. Problem 404, 409, 503.
        """
        async with self._deciding:
            seen = await self._desired.get(app)
            wanted = await self._wanted(seen, revision)
            following = await self._desired.renew(
                app, partial(_restoring, wanted.id, seen), "restore", relaid=True,
                revision=wanted.id,
            )  # fmt: skip
        return Restored(wanted.id, following.life.number, await self._is_done(following))

    async def restore_to(self, app: str, wish: BackWish) -> WentBack:
        """Goes on with the state of a time. Problem 404, 409, HistoryError, SiddhiQLError,
        UnavailableError."""
        async with self._deciding:
            one = await self._desired.get(app)
            await self._pasts.refuse_pending(one)
            found = await self._going_back.found(one, wish)
            self._pasts.forget_failure(app)
            following = await self._desired.renew(
                app, partial(_going_back, found, one), "restore", to_ms=wish.to_ms,
                position=found.position, revision=found.revision, replay=wish.replay,
            )  # fmt: skip
        done = found.past is None and await self._is_done(following)
        return WentBack(found, following.life.number, done)

    async def _wanted(self, deployment: Deployment, revision: str | None) -> Revision:
        there = self._endings if deployment.layout else self._of_units
        verified = [one for one in await there(deployment) if one.verified]
        wanted = next((one for one in verified if revision in (None, one.id)), None)
        if wanted is None:
            what = "no verified revision" if revision is None else f"no revision '{revision}'"
            hint = "`lockstep revisions` lists them, `lockstep snapshot` takes one"
            if deployment.layout:
                what += " of all its units together"
                hint = (
                    "those have no unit in `lockstep revisions`, and are named layout.<n>;"
                    " `lockstep snapshot` makes one"
                )
            raise Problem(HTTPStatus.NOT_FOUND, f"'{deployment.app}' has {what}", hint=hint)
        if wanted.version != deployment.version:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"revision '{wanted.id}' is of version {wanted.version[:12]},"
                f" deployed is {deployment.version[:12]}",
                hint="deploy the text of that version first",
            )
        return wanted

    async def _known(self, app: str) -> Deployment:
        known = await self._desired.known(app)
        if known is None:
            raise unknown(app)
        return known

    async def _of_units(self, deployment: Deployment) -> Sequence[Revision]:
        logs = await self._desired.layouts.logs(deployment)
        return [one for log in logs for one in await self._revisions.list(*log.key)]

    async def _endings(self, deployment: Deployment) -> Sequence[Revision]:
        """Of the layouts before the present one, as one revision each."""
        if not deployment.layout:
            return []
        found = await endings_of(self._revisions, log_of(deployment))
        return [one.revision for one in found if one.layout < deployment.layout]

    async def delete(self, app: str, revision: str) -> None:
        """Deletes one. Problem 404 when it is not there, 409 when recovery needs it."""
        async with self._deciding:
            known = await self._known(app)
            if revision in [one.id for one in await self._endings(known)]:
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"'{revision}' is the end of a layout, which goes by itself",
                    hint="when `processor.revisions_to_keep` later ones have ended;"
                    " undeploying with purge removes all",
                )
            found = await self._of_units(known)
            if revision not in [one.id for one in found]:
                raise Problem(
                    HTTPStatus.NOT_FOUND,
                    f"'{app}' has no revision '{revision}'",
                    hint="`lockstep revisions` lists them",
                )
            if revision in _beginnings(found):
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"revision '{revision}' tells where a state of '{app}' began, and one from"
                    " before it is kept",
                    hint="older ones make room first; undeploying with purge removes all",
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
            found = await self._of_units(await self._known(app))
            kept = await self._needed(app, found)
            going = [one.id for one in found if one.id not in kept]
            await self._revisions.delete(going)
        return Deleted(going, [one.id for one in found if one.id in kept])

    async def _needed(self, app: str, found: Sequence[Revision]) -> set[str]:
        """Also what the app shall be restored to: that may still be on its way."""
        ids = {one.id for own in _by_unit(found) for one in needed(own)} | _beginnings(found)
        for deployment in await self._desired.list():
            if deployment.app == app:
                restoration, past = deployment.origin.restoration, deployment.origin.past
                ids |= set() if restoration is None else {restoration.revision}
                ids |= set() if past is None else {past.revision}
        return ids

    async def _is_done(self, wanted: Deployment) -> bool:
        """All its units are led, in the state that is wanted."""
        units = await self._desired.layouts.units(wanted)
        deadline_ms = self._clock.monotonic_ms() + DONE_LIMIT_MS
        while self._clock.monotonic_ms() < deadline_ms:
            said = self._watch.groups(wanted.app)
            active = [one for _, one in said if one.leads]
            is_new = all(one.generation >= wanted.life.number for one in active)
            if is_new and summary(wanted, units, said) == "active":
                return True
            await self._clock.sleep_ms(DONE_POLL_MS)
        return False


def _by_unit(found: Sequence[Revision]) -> Iterable[Sequence[Revision]]:
    units: dict[tuple[str, int], list[Revision]] = {}
    for one in found:
        units.setdefault((one.group, one.partition), []).append(one)
    return units.values()


def _beginnings(found: Sequence[Revision]) -> set[str]:
    """Which tell from where on a life held that others are kept from before."""
    return {one.id for own in _by_unit(found) for one in beginnings(own)}


def _restoring(revision: str, seen: Deployment, before: Deployment, life: Life) -> Origin:
    """From which state the app goes on. What was found is of the deployment that was `seen`.
    Problem where another one is there."""
    if before.life != seen.life:
        raise raced(before.app)
    return replace(before.origin, restoration=Restoration(revision, life))


def _going_back(found: FoundBack, seen: Deployment, before: Deployment, life: Life) -> Origin:
    """The same, for a time."""
    following = _restoring(found.revision, seen, before, life)
    return following if found.past is None else replace(before.origin, past=found.past)


def _as_it_is(before: Deployment, _life: Life) -> Origin:
    return before.origin
