"""Desired state: which apps at which version. Every write carries the leading coordinator's
epoch.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final
from weakref import WeakValueDictionary

from lockstep.bus import Bus
from lockstep.clock import Clock
from lockstep.control import DEPLOYMENTS_CHANGED
from lockstep.events import Life, UnavailableError
from lockstep.execute.reference.rehearsal import rehearse
from lockstep.frame import Offload, Problem
from lockstep.frame.bodies import whole_number
from lockstep.plan import AppPlan, Plans
from lockstep.plan.fleet import fleet_of
from lockstep.settings import CoordinatorSettings
from lockstep.store import (
    OWN_SETTINGS,
    Deploying,
    Deployment,
    HowDeployed,
    Origin,
    Stale,
    Store,
    Written,
    has_unseen,
)
from lockstep.telemetry import Logger
from lockstep_services.coordinator.app_logs import AppLogs
from lockstep_services.coordinator.claims import Claims
from lockstep_services.coordinator.layouts import Layouts
from lockstep_services.coordinator.lives import (
    catch_up,
    is_latest,
    latest_life,
    refuse_earlier,
)
from lockstep_services.coordinator.pasts import FoundPast, Pasts, PastWish
from lockstep_services.coordinator.sinks import Sinks

MAX_ATTEMPTS: Final = 3
MAX_LOOKS: Final = 30
"""At what others deploy, within an attempt: each time another coordinator was faster."""
MAX_REPLICAS: Final = 100
MAX_TEXT_BYTES: Final = 1_000_000
"""Settings that the coordinator writes; they outlive a change of the text."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """What a deploy came to: `created` for a new app, `changed` unless it was there as it is,
    `past` where it begins with one."""

    deployment: Deployment
    created: bool
    changed: bool
    past: FoundPast | None = None


MayReplace = Callable[[Deployment], None]
"""Raises Problem where the app that is there may not be replaced so."""


def _anything(_before: Deployment) -> None:
    """By default any app may be."""


def parallel_after(wanted: int | None, before: Deployment | None) -> int:
    """What is wanted, else what it was: a new text alone does not move keys."""
    if wanted is not None:
        return wanted
    return 0 if before is None else before.parallel


@dataclass(frozen=True, slots=True)
class _Wish:
    """What somebody wants deployed."""

    plan: AppPlan
    text: str
    version: str
    settings: Mapping[str, str]
    parallel: int | None
    past: PastWish | None = None
    may_replace: MayReplace = _anything
    who: str = ""
    how: HowDeployed | None = None

    def is_met_by(self, before: Deployment) -> bool:
        """Nothing is to be changed."""
        if self.past is not None:
            return False
        alike = before.version == self.version and before.settings == self.settings
        return alike and is_cut_alike(before, parallel_after(self.parallel, before))


def is_cut_alike(before: Deployment, parallel: int) -> bool:
    """So many partitions are what is there."""
    if before.layout == 0:  # one unit is one unit, whether somebody has said so or not
        return max(1, parallel) == max(1, before.parallel)
    return parallel == before.parallel


class Epoch:
    """The number that shuts out earlier leaders: begins at the wall clock, moves over what it
    meets.

    Wall clocks of two hosts may differ; then the store's refusal tells the number to go beyond.
    """

    def __init__(self) -> None:
        self.number = 0

    def begin(self, now_ms: int) -> None:
        """A term as leader begins."""
        self.number = max(self.number + 1, now_ms)

    def pass_over(self, current: int) -> None:
        """Somebody wrote with `current`."""
        self.number = max(self.number, current + 1)

    async def write(self, what: str, put: Callable[[int], Awaitable[Written | Stale]]) -> None:
        """Puts something under this number, again where that was passed over; Problem when it
        raced."""
        for _ in range(MAX_ATTEMPTS):
            outcome = await put(self.number)
            if isinstance(outcome, Written):
                return
            self.pass_over(outcome.current)
        raise raced(what)


class DesiredState:
    """Reads and writes deployments and placements."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        settings: CoordinatorSettings,
        epoch: Epoch,
        log: Logger,
        offload: Offload,
        plans: Plans,
        logs: AppLogs,
        layouts: Layouts,
        pasts: Pasts,
        sinks: Sinks,
    ) -> None:
        self.layouts = layouts
        self.sinks = sinks
        self._pasts = pasts
        self._offload = offload
        self._plans = plans
        self._claims = Claims(plans)
        self._claiming = asyncio.Lock()
        self._logs = logs
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._store = store
        self._bus = bus
        self._clock = clock
        self._settings = settings
        self._epoch = epoch
        self._log = log

    async def deploy(
        self,
        text: str,
        settings: Mapping[str, str],
        parallel: int | None = None,
        past: PastWish | None = None,
        may_replace: MayReplace = _anything,
        *,
        who: str,
        how: HowDeployed | None = None,
    ) -> Deployed:
        """Deploys or replaces; SiddhiQLError for an invalid text, Problem when it raced. `who` asks
        for it, and `how` it came to be are noted of the text; None: as the versions tell.

        `parallel`: into how many partitions the app is cut; None: as before, else as the text says.
        `past`: what it folds first; HistoryError where the archive does not have it.
        """
        plan = await self.plan(text)
        settings = {key: value for key, value in settings.items() if key not in OWN_SETTINGS}
        wish = _Wish(plan, text, version_of(text), settings, parallel, past, may_replace, who, how)
        await self._offload.run(lambda: fleet_of(plan, parallel))  # refused here, not later
        claiming = await _present_and_before(await self._store.deployments.list(), self._pasts)
        await self._offload.run(partial(self._claims.refuse, plan, claiming))
        async with self.one_at_a_time(plan.name):
            return await self._deploy(wish)

    async def _deploy(self, wish: _Wish) -> Deployed:
        plan = wish.plan
        for _ in range(MAX_ATTEMPTS):
            before = await self._store.deployments.get(plan.name)
            if before is not None:
                wish.may_replace(before)
                if wish.is_met_by(before) and await is_latest(self._bus, before):
                    return Deployed(before, created=False, changed=False)
                await self._pasts.refuse_pending(before)
            deployment, past = await self._next(wish, before)
            deploying = await _noted(wish, before, self._store, self._settings.versions_keep)
            outcome = await self._put_beside_others(plan, deployment, deploying)
            if isinstance(outcome, Written):
                self._log.info("deployed", app=plan.name, version=wish.version[:12])
                if deployment.layout:
                    await self.layouts.announce(deployment)
                await self.nudge()
                return Deployed(deployment, created=before is None, changed=True, past=past)
        raise raced(plan.name)

    async def _put_beside_others(
        self, plan: AppPlan, deployment: Deployment, deploying: Deploying
    ) -> Written | Stale:
        """Puts it unless another app has what it claims: Problem. What was free may be another
        app's by now. The lock makes deployments of this coordinator take turns; the store refuses
        one that another coordinator has passed, so that is looked at again. Logs of a new app that
        is refused here stay, as of one that was cut short."""
        deployments = self._store.deployments
        async with self._claiming:
            there = await deployments.list()
            for _ in range(MAX_LOOKS):
                claiming = await _present_and_before(there, self._pasts)
                await self._offload.run(partial(self._claims.refuse, plan, claiming))
                epoch = self._epoch.number
                outcome = await catch_up(deployments, self._logs, deployment, there, epoch=epoch)
                if isinstance(outcome, Written):
                    outcome = await deployments.put(
                        deployment, epoch=epoch, deploying=deploying, beside=there
                    )
                if isinstance(outcome, Written):
                    break
                self._pass_over(outcome)
                seen, there = there, await deployments.list()
                if not has_unseen(plan.name, ((one.app, one.version) for one in there), seen):
                    break  # it is not refused for what others deploy
        return outcome

    async def renew(
        self,
        app: str,
        origin_of: Callable[[Deployment, Life], Origin],
        why: str,
        *,
        relaid: bool = False,
        **told: object,
    ) -> Deployment:
        """The same app as a next generation that goes on from something else, `why` the log says;
        Problem. `relaid`: a fleet does so in a next layout, which is cut like the present one.
        What was undeployed meanwhile stays so, whoever has done that."""
        async with self.one_at_a_time(app):
            for _ in range(MAX_ATTEMPTS):
                before = await self.get(app)
                await refuse_earlier(self._bus, before)
                life, now_ms = before.life.next, self._clock.now_ms()
                origin = origin_of(before, life)
                following = replace(before, life=life, updated_ms=now_ms, origin=origin)
                if relaid and before.layout:
                    following = await self.layouts.relaid(before, following)
                outcome = await self._store.deployments.put(
                    following, epoch=self._epoch.number, revives=False
                )
                if isinstance(outcome, Written):
                    self._log.warning(why, app=app, **told)
                    if following.layout:
                        await self.layouts.announce(following)
                    await self.nudge()
                    return following
                self._pass_over(outcome)
            raise raced(app)

    async def plan(self, text: str, *, runs: bool = False) -> AppPlan:
        """The plan of an app text; SiddhiQLError with line, column and hint. `runs`: of an app that
        is deployed, whatever a new text is refused for since."""
        read = self._plans.of if runs else partial(deployable, plans=self._plans)
        return await self._offload.run(lambda: read(text))

    async def undeploy(self, app: str, *, purge: bool) -> bool:
        """Removes an app; `purge`: also logs, revisions, cursors, be it after the app, and logs of
        one that the store does not know. False when there was nothing to remove."""
        async with self.one_at_a_time(app):
            there = await self._store.deployments.get(app)
            if there is None and purge:
                there = await self._logs.kept(app)
            if there is not None:
                remove = self._store.deployments.remove
                await self._epoch.write(app, lambda epoch: remove(app, epoch=epoch, purge=purge))
                await self.place(app, ())
                await self.nudge()
                self._log.info("undeployed", app=app, purge=purge)
            if purge:
                await self._logs.let_go(app)
                await self._logs.sweep(app)
                return await self._logs.forget(app) or there is not None
        return there is not None

    async def place(self, app: str, nodes: Sequence[str]) -> bool:
        """Records a placement; False when somebody else wrote meanwhile."""
        outcome = await self._store.deployments.put_placement(app, nodes, epoch=self._epoch.number)
        if isinstance(outcome, Written):
            return True
        self._pass_over(outcome)
        return False

    async def list(self) -> Sequence[Deployment]:
        """All deployments by name."""
        return await self._store.deployments.list()

    async def get(self, app: str) -> Deployment:
        """One; Problem 404."""
        found = await self._store.deployments.get(app)
        if found is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed")
        return found

    async def known(self, app: str) -> Deployment | None:
        """What is deployed of that name, or what is kept of it while it is not."""
        return await self._store.deployments.get(app) or await self._logs.kept(app)

    async def placements(self) -> Mapping[str, Sequence[str]]:
        return await self._store.deployments.placements()

    async def nudge(self) -> None:
        """Tells everybody to look."""
        await self._bus.topics.publish(DEPLOYMENTS_CHANGED, b"")

    async def _next(
        self, wish: _Wish, there: Deployment | None
    ) -> tuple[Deployment, FoundPast | None]:
        """What is to be put over what is there. Whatever is refused is refused before there are
        logs, which nobody would remove."""
        plan, now_ms = wish.plan, self._clock.now_ms()
        before, removed, kept, is_there = there, None, there, there is not None
        if there is None:
            removed = await self._logs.removed(plan.name)
            kept = None if removed is None else removed.kept
            if kept is not None and kept.version == wish.version:
                before = kept  # the same app again: it goes on as it was
        life, origin = Life(now_ms, 1), Origin()
        if before is not None:
            latest = await latest_life(self._bus, before)
            life, origin = latest.next, replace(before.origin, past=None)
        deployment = Deployment(
            app=plan.name,
            text=wish.text,
            version=wish.version,
            life=life,
            replicas=replicas_of(plan, wish.settings, self._settings.replicas),
            updated_ms=now_ms,
            settings=wish.settings,
            origin=origin,
            parallel=parallel_after(wish.parallel, before),
            sinks=await self.sinks.numbers(kept, wish.text, is_there=is_there),
        )
        deployment = await self.layouts.laid_out(plan, deployment, before, is_there=is_there)
        if deployment.layout:
            parallel, rules = deployment.parallel, deployment.rules
            await self.layouts.check(plan, parallel, rules, is_fleet=True)
        span = None
        if wish.past is not None:
            span = await self._pasts.span(plan, wish.past, deployment, there)
        if before is None:
            life, origin = await self._logs.found_by(plan.name, removed, now_ms)
            deployment = replace(deployment, life=life, origin=origin)
        if wish.past is None or span is None:
            return deployment, None
        past, origin = await self._pasts.found(wish.past, span, deployment, there)
        return replace(deployment, origin=origin), past

    def one_at_a_time(self, app: str) -> asyncio.Lock:
        """Nobody deploys an app while its logs are being removed, or pauses what is, or lets it
        go on from something else."""
        return self._locks.setdefault(app, asyncio.Lock())

    def _pass_over(self, outcome: Stale | Written) -> None:
        if isinstance(outcome, Stale):
            self._epoch.pass_over(outcome.current)


async def _noted(wish: _Wish, before: Deployment | None, store: Store, keep: int) -> Deploying:
    """A text that was a version already is a way back, unless it is known better."""
    how = wish.how
    if how is None:
        earlier = {one.digest for one in await store.versions.list(wish.plan.name)}
        is_first = HowDeployed.FRESH if before is None else HowDeployed.UPGRADE
        how = HowDeployed.RESTORE if wish.version in earlier else is_first
    return Deploying(wish.who, how, keep)


async def _present_and_before(there: Sequence[Deployment], pasts: Pasts) -> Sequence[Deployment]:
    """What is deployed, and what may be again: while an app folds its past, its text before keeps
    what it claims, as it goes on when that is called off."""
    again: list[Deployment] = []
    for one in there:
        was = one.origin.past and one.origin.past.before
        if was and was.text != one.text and await pasts.may_be_called_off(one):
            again.append(replace(one, text=was.text, version=version_of(was.text)))
    return [*there, *again]


def version_of(text: str) -> str:
    """What tells a text from all others."""
    return hashlib.sha256(text.encode()).hexdigest()


def deployable(text: str, plans: Plans) -> AppPlan:
    """The plan of an app text; SiddhiQLError with line, column and hint."""
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an app text may have {MAX_TEXT_BYTES} bytes"
        )
    plan = plans.of(text)
    if plan.checked.objection is not None:
        raise plan.checked.objection
    # What would only fail when a processor starts the app is its author's to know now.
    rehearse(plan)
    return plan


def replicas_of(plan: AppPlan, settings: Mapping[str, str], default: int) -> int:
    """How many processors carry the app: as deployed, by @app:ha(replicas=…), or the default."""
    annotation = plan.checked.annotations.get("ha")
    given = settings.get("replicas") or (annotation.get("replicas") if annotation else None)
    if given is None:
        return default
    found = whole_number(given, MAX_REPLICAS)
    if not found:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"replicas: expected 1 to {MAX_REPLICAS}, got '{given[:20]}'"
        )
    return found


def unknown(app: str) -> Problem:
    """Of an app that has no logs."""
    return Problem(HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed, or was")


async def nudged(desired: DesiredState, log: Logger) -> None:
    """Everybody looks now, or by and by where nobody can be told."""
    try:
        await desired.nudge()
    except UnavailableError as error:
        log.debug("everybody looks by and by", error=str(error))


def raced(app: str) -> Problem:
    """Somebody else wrote at the same time, again and again."""
    return Problem(
        HTTPStatus.CONFLICT, f"'{app}' was changed by somebody else at the same time",
        hint="look at it and try again",
    )  # fmt: skip
