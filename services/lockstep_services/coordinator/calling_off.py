"""Calling a past off: what was deployed before goes on, or nothing is deployed any more."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from lockstep.clock import Clock
from lockstep.control import PAST_FAILED, PAST_NONE, PastStatus
from lockstep.events import UnavailableError
from lockstep.frame import Problem
from lockstep.store import Deploying, Deployment, HowDeployed, Stale, Store, Written
from lockstep.telemetry import Logger
from lockstep_services.coordinator.desired import (
    MAX_ATTEMPTS,
    DesiredState,
    Epoch,
    raced,
    version_of,
)
from lockstep_services.coordinator.pasts import Pasts


class CallingOff:
    """Of all apps."""

    def __init__(
        self, desired: DesiredState, pasts: Pasts, store: Store, epoch: Epoch, clock: Clock,
        log: Logger, *, versions_keep: int,
    ) -> None:  # fmt: skip
        self._versions_keep = versions_keep
        self._desired = desired
        self._pasts = pasts
        self._deployments = store.deployments
        self._epoch = epoch
        self._clock = clock
        self._log = log

    async def status(self, app: str) -> PastStatus:
        """How far the past of an app is, also of one that could not be folded. Problem 404."""
        there = await self._deployments.get(app)
        found = self._pasts.status(app, there)
        return found or PastStatus((await self._desired.get(app)).life.number, PAST_NONE)

    async def call_off(self, app: str, why: str, *, purge: bool, who: str) -> bool:
        """What has not begun with its past does not; whether something was there before, which goes
        on. `purge`: of an app that is new nothing is left, nor of what it has taken in. Rows of the
        past go in any case. `who` has asked for it. Problem 404, 409."""
        deploying = Deploying(who, HowDeployed.RESTORE, self._versions_keep)
        for _ in range(MAX_ATTEMPTS):
            one = await self._desired.get(app)
            past = one.origin.past
            if past is None or not await self._pasts.is_pending(one):
                raise Problem(HTTPStatus.CONFLICT, f"'{app}' is not folding its past")
            if past.before is None:
                await self._desired.undeploy(app, purge=purge and _has_logs_of_its_own(one))
            else:
                if not await self._put_back(one, deploying):
                    continue
                await self._desired.nudge()
            goes_on = past.before is not None
            self._pasts.note_failure(app, PastStatus(one.life.number, PAST_FAILED, why=why))
            self._log.warning("past called off", app=app, why=why, goes_on=goes_on)
            try:
                await self._pasts.forget(one, self._clock)
            except UnavailableError as error:
                self._log.warning("rows of a past are left", app=app, error=str(error))
            return goes_on
        raise raced(app)

    async def _put_back(self, one: Deployment, deploying: Deploying) -> bool:
        """False when somebody else wrote meanwhile; what was undeployed stays so."""
        async with self._desired.one_at_a_time(one.app):
            before = await self._as_before(one)
            outcome = await self._deployments.put(
                before, epoch=self._epoch.number, deploying=deploying, revives=False
            )
        if isinstance(outcome, Stale):
            self._epoch.pass_over(outcome.current)
        return isinstance(outcome, Written)

    async def _as_before(self, one: Deployment) -> Deployment:
        assert one.origin.past is not None
        was = one.origin.past.before
        assert was is not None
        sinks = await self._desired.sinks.numbers(one, was.text, refuses=False)
        return replace(
            one, text=was.text, version=version_of(was.text), settings=was.settings,
            replicas=was.replicas, life=one.life.next, updated_ms=self._clock.now_ms(),
            origin=replace(one.origin, past=None), sinks=sinks,
        )  # fmt: skip


def _has_logs_of_its_own(one: Deployment) -> bool:
    """They began with it: no app of that name has left them."""
    return one.origin.logs_since_ms == one.life.deployed_ms
