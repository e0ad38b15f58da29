"""What stands in the way of a next layout. It begins where every unit of the present one has ended,
on processors that can take its units. Whatever cannot come to that is refused beforehand, as far as
heartbeats tell, while the app still runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from http import HTTPStatus

from lockstep.bus import Bus
from lockstep.control import (
    AppView,
    HeartbeatWatch,
    label_of,
    log_of,
    unit_label,
)
from lockstep.control.endings import last_revision
from lockstep.frame import Problem
from lockstep.store import Deployment, Store

OF_A_FLEET = (
    "raise the limit on all processors and restart them: it goes on with its state."
    " Or undeploy it and deploy a changed text: that begins empty"
)
OF_ONE_UNIT = (
    "deploy a changed text in one unit first (--parallel 1), or raise the limit on all processors"
    " and restart them: it goes on with its state either way"
)


class Obstacles:
    """Of all apps."""

    def __init__(
        self, bus: Bus, watch: HeartbeatWatch, store: Store, *, min_processors: int
    ) -> None:
        self._bus = bus
        self._watch = watch
        self._store = store
        self._min_processors = min_processors
        self.knows_silence = False
        """Heartbeats were listened to for long enough: who was not heard does not live. The
        leading coordinator's round says so."""

    async def refuse(self, before: Deployment) -> None:
        """Problem 409 where an app that runs would end, or a part of it, and not go on."""
        leading = [
            one
            for _, one in self._watch.groups(before.app)
            if one.leads and one.deployed_ms == before.life.deployed_ms
        ]
        for one in leading:
            if one.has_stopped:
                label = label_of(one.app, one.group, one.partition)
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"{label} does not get to where a next layout could begin: {one.trouble}",
                    hint=OF_A_FLEET if before.layout else OF_ONE_UNIT,
                )
        if leading:
            await self._refuse_without_room(before.app)

    async def _refuse_without_room(self, app: str) -> None:
        drained = await self._store.deployments.drained()
        heard = self._watch.alive("processor")
        living = [beat.node for beat in heard if not beat.draining]
        if not self.knows_silence:
            living += await self._believed({beat.node for beat in heard})
        there = sum(node not in drained for node in living)
        if there >= self._min_processors:
            return
        undo = [
            f", or undo a drain: `lockstep drain {one} --undo`" for one in living if one in drained
        ]
        raise Problem(
            HTTPStatus.CONFLICT,
            f"'{app}' would end here and not go on elsewhere: {there} of"
            f" coordinator.min_processors = {self._min_processors} can take replicas",
            hint="".join(["start another processor", *undo[:1]]),
        )

    async def _believed(self, heard: Collection[str]) -> list[str]:
        """Processors that were not heard yet, and carry something as far as anybody knows."""
        placed = (await self._store.deployments.placements()).values()
        return sorted({node for nodes in placed for node in nodes if node not in heard})

    async def is_restoring(self, before: Deployment) -> bool:
        """An app of one unit has not gone back yet to the state that somebody wants, as its output
        log says. A fleet does so as a next layout. UnavailableError, LogGoneError."""
        restoration = before.origin.restoration
        if restoration is None or before.layout:
            return False
        tail = await (await self._bus.output_log(log_of(before), make=False)).tail()
        return tail.generation is None or tail.generation.life < restoration.life

    async def held_up_by(self, former: Sequence[AppView]) -> list[str]:
        """Those of the units before a layout that it still waits for, with their trouble, for
        people."""
        revisions = self._store.revisions
        going_on = [one for one in former if await last_revision(revisions, one.log) is None]
        return [f"the end of {unit_label(one.key)}{self._trouble_of(one)}" for one in going_on]

    def _trouble_of(self, unit: AppView) -> str:
        place = (unit.log.group, unit.log.partition)
        said = [
            one for _, one in self._watch.groups(unit.name) if (one.group, one.partition) == place
        ]
        leading = [one for one in said if one.leads]
        found = [] if leading else ["nobody leads it"]
        found += [one.trouble for one in leading or said if one.trouble]
        return f" ({', '.join(dict.fromkeys(found))})" if found else ""
