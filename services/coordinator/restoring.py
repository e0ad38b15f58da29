"""Revisions as operators see them: which there are, and wanting an app to go on with one of them.

A restore is desired state: every replica hears of it in the same order as of deployments, and the
leading one decides at which position it happens (see the processor's DESIGN.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from lockstep.clock import Clock
from lockstep.frame import HeartbeatWatch, Problem
from lockstep.store import Revision, Store
from services.coordinator.desired import DesiredState

DONE_LIMIT_MS: Final = 15_000
DONE_POLL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Restored:
    """`done` is False when no processor has carried it out yet: one will, as soon as it leads."""

    revision: str
    generation: int
    done: bool


class Restoring:
    """Over the store's revisions."""

    def __init__(
        self, desired: DesiredState, watch: HeartbeatWatch, store: Store, clock: Clock
    ) -> None:
        self._desired = desired
        self._watch = watch
        self._revisions = store.revisions
        self._clock = clock

    async def revisions(self, app: str) -> Sequence[Revision]:
        """Newest first."""
        return await self._revisions.list(app, "main", 0)

    async def restore(self, app: str, revision: str | None) -> Restored:
        """Goes on with a verified revision of the deployed version, by default the newest. Returns
        when the leader has, or after a while. Problem 404, 409.
        """
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
        generation = (await self._desired.restore(app, wanted.id)).generation
        return Restored(wanted.id, generation, await self._is_done(app, generation))

    async def _is_done(self, app: str, generation: int) -> bool:
        deadline_ms = self._clock.monotonic_ms() + DONE_LIMIT_MS
        while self._clock.monotonic_ms() < deadline_ms:
            active = [one for _, one in self._watch.groups(app) if one.role == "active"]
            if active and all(one.generation >= generation for one in active):
                return True
            await self._clock.sleep_ms(DONE_POLL_MS)
        return False
