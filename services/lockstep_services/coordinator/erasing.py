"""Rows forgotten out of an app's archive: by the publisher that delivers the app, or, where it is
not deployed, here."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from lockstep.archive.erasing import erase, has_anything
from lockstep.archive.place import Place
from lockstep.control import Erased, Erasure, erasure_subject
from lockstep.events import LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.frame import Context, Offload
from lockstep.leader import Held
from lockstep_services.coordinator.desired import DesiredState

TIMEOUT_MS: Final = 25_000


class ArchiveErasing:
    """Of any app. Who erases has to be the only one who appends: for an app that is not deployed
    this takes the lease that a publisher would need."""

    def __init__(self, context: Context, desired: DesiredState, offload: Offload) -> None:
        self._topics = context.world.bus.topics
        self._leases = context.leases
        self._offload = offload
        self._desired = desired
        self._deployments = context.world.store.deployments

    async def erase(self, app: str, wanted: Erasure, place: Place | None) -> Erased:
        """`place`: of the archive, where the settings name one. UnavailableError; Problem 404:
        there is nothing of the app."""
        if place is None or await self._deployments.get(app) is not None:
            return await self._by_publisher((await self._desired.get(app)).app, wanted)
        return await self._here(app, wanted, place)

    async def _by_publisher(self, app: str, wanted: Erasure) -> Erased:
        raw = await self._topics.request(
            erasure_subject(app), msgspec.json.encode(wanted), timeout_ms=TIMEOUT_MS
        )
        return from_json(raw, Erased)

    async def _here(self, app: str, wanted: Erasure, place: Place) -> Erased:
        if not await self._offload.run(lambda: has_anything(place, app)):
            await self._desired.get(app)  # says that it is not deployed
        resource = f"publisher/{app}"
        if isinstance(await self._leases.acquire(resource), Held):
            raise UnavailableError(f"the archive of '{app}' is still being written")
        try:
            if await self._deployments.get(app) is not None:
                raise UnavailableError(f"'{app}' was deployed just now")
            work = partial(erase, place, app, wanted.stream, wanted.where)
            gone = await self._offload.run(work)
        except UnavailableError:
            raise
        except LockstepError as error:
            return Erased(error=str(error), user_error=True)
        finally:
            await self._leases.release(resource)
        return Erased(gone.rows, tables=gone.tables, skipped=gone.skipped)
