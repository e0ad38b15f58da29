"""The layouts of fleets: which units an app wants, and going over from one layout to the next.

The input log says where: behind one record the units of a layout end, and those of the next begin.
That record is written after the layout is desired, by whoever leads, again if need be: the first
one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from lockstep.bus import Bus, LogGoneError, LogName
from lockstep.clock import Clock
from lockstep.control import AppView, group_and_layout, log_of, unit_key, view_of
from lockstep.events import TickRecord
from lockstep.fleet import check_units
from lockstep.fleet.renaming import losses_of_layout
from lockstep.frame import Offload, Problem
from lockstep.plan import AppPlan, Plans
from lockstep.plan.fleet import RULES, fleet_of
from lockstep.plan.succession import losses
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment, Former, Revisions
from lockstep.telemetry import Logger
from lockstep_services.coordinator.obstacles import Obstacles

RETRY_AFTER_MS: Final = 1_000


class Layouts:
    """Of all apps."""

    def __init__(
        self,
        bus: Bus,
        offload: Offload,
        plans: Plans,
        obstacles: Obstacles,
        revisions: Revisions,
        clock: Clock,
        log: Logger,
    ) -> None:
        self.obstacles = obstacles
        self._bus = bus
        self._offload = offload
        self._plans = plans
        self._revisions = revisions
        self._clock = clock
        self._log = log
        self._views: dict[str, AppView] = {}
        self._begun: set[LogName] = set()
        self._announced: set[LogName] = set()

    async def view(self, deployment: Deployment) -> AppView:
        """What it means, read once. SiddhiQLError."""
        known = self._views.get(deployment.app)
        if known is None or known.deployment != deployment:
            known = await self._offload.run(lambda: view_of(deployment, self._plans))
            self._views[deployment.app] = known
        return known

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all others: they are not deployed any more."""
        self._views = {app: view for app, view in self._views.items() if app in apps}
        self._begun = {log for log in self._begun if log.app in apps}
        self._announced = {log for log in self._announced if log.app in apps}

    async def logs(self, deployment: Deployment) -> list[LogName]:
        """The output logs of its units, under whose names their revisions are."""
        return [unit.log for unit in (await self.view(deployment)).units]

    async def laid_out(
        self, plan: AppPlan, wanted: Deployment, before: Deployment | None, *, is_there: bool
    ) -> Deployment:
        """What is wanted, with its layout. An app that has run as a fleet stays one, be it of one
        unit. Into how many partitions somebody has wanted it stays known in any case. `is_there`:
        what was before is deployed. Problem."""
        fleet = await self._offload.run(lambda: fleet_of(plan, wanted.parallel or None))
        if fleet.is_single and not (before is not None and before.layout):
            return wanted
        if before is None:
            return replace(wanted, layout=wanted.life.number, rules=RULES)
        same = before.version == wanted.version and before.parallel == wanted.parallel
        if same and before.layout:
            # The same units go on, so they stay cut as they are.
            return replace(wanted, layout=before.layout, former=before.former, rules=before.rules)
        return await self.next(before, wanted, is_there=is_there)

    async def next(
        self, before: Deployment, wanted: Deployment, *, is_there: bool = True
    ) -> Deployment:
        """What is wanted, in a layout of its own behind that of before. Problem 503 while that has
        not begun, 409 where it does not by itself, or cannot be read, or would not end.
        LogGoneError where an output log was lost."""
        former = await self._to_go_on_from(before, is_there=is_there)
        return replace(wanted, layout=wanted.life.number, former=former, rules=RULES)

    async def relaid(self, before: Deployment, wanted: Deployment) -> Deployment:
        """The same text cut alike in a next layout: by the rules of this release, or by those of
        its time where these refuse it. An app that runs is not stopped by an update. Problem."""
        following = await self.next(before, wanted)
        assert following.former is not None
        try:
            plan = await self._offload.run(lambda: self._plans.of(following.text))
            await self.check(plan, following.parallel, RULES, is_fleet=True)
        except SiddhiQLError as error:
            rules = following.former.rules
            self._log.info("cut as before", app=following.app, rules=rules, reason=error.message)
            return replace(following, rules=rules)
        return following

    async def check(self, plan: AppPlan, parallel: int, rules: int, *, is_fleet: bool) -> None:
        """Refuses what could not be cut so, or whose units could not begin. `parallel`: as a
        deployment has it; `is_fleet`: be it of one unit. SiddhiQLError."""

        def check() -> None:
            fleet = fleet_of(plan, parallel or None, rules)
            if is_fleet or not fleet.is_single:
                check_units(fleet, self._plans.of)

        await self._offload.run(check)

    async def _to_go_on_from(self, before: Deployment, *, is_there: bool) -> Former:
        """The layout that a next one goes on from."""
        await self.obstacles.refuse(before)
        try:
            view = await self.view(before)
        except SiddhiQLError as error:
            return await self._in_front_of_unread(before, error)
        if before.former is not None and not await self.has_begun(view):
            raise _not_yet(before, f"going over to its layout {before.layout}", is_there=is_there)
        if await self.obstacles.is_restoring(before):
            raise _not_yet(before, "going back to the state of a revision", is_there=is_there)
        return Former(
            before.text, before.version, before.parallel, before.layout, before.life, before.rules
        )

    async def _in_front_of_unread(self, before: Deployment, error: SiddhiQLError) -> Former:
        """The layout in front of one that nobody can read, if that was never announced: logs are
        made before. Earlier releases stored such layouts. Problem 409 for any other."""
        since_ms = log_of(before).since_ms
        logs = await self._bus.logs(before.app)
        begun = {group_and_layout(one.group)[1] for one in logs if one.since_ms == since_ms}
        if before.former is None or before.layout in begun:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"nothing can go on from what is deployed of '{before.app}': this release cannot"
                f" read it ({error.message})",
                hint="undeploy it, then deploy the new text",
            )  # fmt: skip
        return before.former

    async def losses(self, before: AppView, plan: AppPlan, parallel: int) -> tuple[str, ...]:
        """What begins empty, if it has state, and why, where this takes the place of what is
        deployed. `parallel`: as a deployment has it. SiddhiQLError."""

        def found() -> tuple[str, ...]:
            after = fleet_of(plan, parallel or None)
            if before.fleet is not None:
                texts = [group.text for group in before.fleet.groups]
            elif after.is_single:
                return losses(before.plan, plan)
            else:
                texts = [before.plan.text]
            return losses_of_layout(before.plan, texts, after, self._plans.of)

        return await self._offload.run(found)

    async def units(self, deployment: Deployment) -> list[str]:
        """The units of the present layout."""
        if not deployment.layout:
            return [deployment.app]
        return [one.key for one in (await self.view(deployment)).units]

    async def wanted(self, deployment: Deployment) -> list[str]:
        """The units (`AppView.key`) that processors shall carry: those of a former layout as well,
        until all of this one have begun."""
        if not deployment.layout:
            return [deployment.app]
        former = await self.former(deployment)
        return [one.key for one in (*former, *(await self.view(deployment)).units)]

    async def former(self, deployment: Deployment) -> Sequence[AppView]:
        """The units of the layout before, which go on until all of the present one have begun; none
        from then on. SiddhiQLError, UnavailableError."""
        if not deployment.layout:
            return ()
        view = await self.view(deployment)
        try:
            return () if not view.former or await self.has_begun(view) else view.former
        except LogGoneError:
            return ()

    async def has_begun(self, view: AppView) -> bool:
        """All units of the present layout have claimed their logs. UnavailableError; LogGoneError
        where all have, and a log was lost since."""
        lost: LogGoneError | None = None
        for unit in view.units:
            if unit.log in self._begun:
                continue
            try:
                if not await _has_claimed(self._bus, self._revisions, unit.log):
                    return False
                self._begun.add(unit.log)
            except LogGoneError as error:
                lost = error
        if lost is not None:
            raise lost
        return True

    async def announce(self, deployment: Deployment) -> None:
        """Says in the input log where the layout begins, unless this process has. UnavailableError;
        LogGoneError where an output log was lost.

        Output logs are there first: who looks for a layout's logs finds all of them.
        """
        view = await self.view(deployment)
        name = view.units[0].log
        if name in self._announced:
            return
        for unit in view.units:
            await make_unless_lost(self._bus, self._revisions, unit.log)
        if view.former and not await self.has_begun(view):
            log = await self._bus.input_log(view.input)
            record = TickRecord(self._clock.now_ms(), deployment.layout)
            dedup_id = f"layout/{deployment.life.deployed_ms}/{deployment.layout}"
            appended = await log.append(record, dedup_id=dedup_id)
            self._log.info(
                "layout announced", app=deployment.app, layout=deployment.layout,
                position=appended.position, units=[unit_key(one.log) for one in view.units],
            )  # fmt: skip
        self._announced.add(name)


async def _has_claimed(bus: Bus, revisions: Revisions, name: LogName) -> bool:
    """A unit has begun: its output log says so. Where there is no log, but a verified revision of
    the unit, it has begun and its log was lost: LogGoneError. UnavailableError."""
    try:
        tail = await (await bus.output_log(name, make=False)).tail()
    except LogGoneError:
        if any(one.verified for one in await revisions.list(*name.key)):
            raise
        return False
    return tail.generation is not None


async def make_unless_lost(bus: Bus, revisions: Revisions, name: LogName) -> None:
    """An output log that was never there is made. Where its unit has begun, of which there is a
    revision then, it was lost: LogGoneError, as in a new one rows would stand a second time.
    UnavailableError."""
    try:
        # A bus that does not answer would open it all the same.
        await (await bus.output_log(name, make=False)).tail()
    except LogGoneError:
        if await revisions.list(*name.key):
            raise
        await bus.output_log(name)


def _not_yet(before: Deployment, what: str, *, is_there: bool) -> Problem:
    """Something else comes first: by itself, unless nobody carries the app."""
    if is_there:
        return Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, f"'{before.app}' is still {what}",
            hint="`lockstep status` shows how far it is; try again in a moment",
            retry_after_ms=RETRY_AFTER_MS,
        )  # fmt: skip
    parallel = before.parallel or (0 if before.layout else 1)
    as_it_was = f"--parallel {parallel}" if parallel else "without --parallel"
    return Problem(
        HTTPStatus.CONFLICT, f"'{before.app}' was undeployed while it was {what}",
        hint=f"deploy it as it was ({as_it_was}), wait until it runs, then change it",
    )  # fmt: skip
