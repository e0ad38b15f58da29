"""The past that an app is to begin with (`deploy --from`): what it is, whether it has begun, how
far it is folded, and what becomes of one that cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from lockstep.archive.place import Place
from lockstep.bus import Bus, LogGoneError, LogName
from lockstep.clock import Clock
from lockstep.control import (
    PAST_DONE,
    GroupStatus,
    HeartbeatWatch,
    PastStatus,
    forget_progress,
    log_of,
)
from lockstep.events import Position, TickRecord, UnavailableError
from lockstep.frame import Offload, Problem
from lockstep.history.past import PastSpan, past_of
from lockstep.history.results import remove_rows
from lockstep.plan import AppPlan
from lockstep.store import PAST_ARCHIVE, Before, Deployment, Origin, Past, Revisions

WAITING: Final = "waiting"
"""Nobody folds it yet."""
MAX_FAILURES: Final = 1_000
BEGIN_WHOLE: Final = (
    "deploy it in one unit, without @app:parallel and @dist. Cut it when it has begun:"
    " `lockstep deploy --parallel n` moves keys with their state"
)
STAYS_CUT: Final = (
    "an app that was cut stays so: deploy it under another name with --from-app, in one unit, and"
    " cut that when it has begun"
)
ABANDON_LIMIT_MS: Final = 10_000
ABANDON_POLL_MS: Final = 50


@dataclass(frozen=True, slots=True)
class PastWish:
    """From which time on, of which app's input (None: the one of that name), and where rows go."""

    from_ms: int
    app: str | None
    output: str


@dataclass(frozen=True, slots=True)
class FoundPast:
    """What was found for a wish, for whoever asked."""

    past: Past
    begins_ms: int
    archived_to: Position
    ignored: Sequence[str]


class Pasts:
    """Of all apps. `place`: None where nothing is archived."""

    def __init__(
        self,
        place: Place | None,
        offload: Offload,
        bus: Bus,
        revisions: Revisions,
        watch: HeartbeatWatch,
    ) -> None:
        self._place = place
        self._offload = offload
        self._bus = bus
        self._revisions = revisions
        self._watch = watch
        self._failures: dict[str, PastStatus] = {}

    async def span(
        self, plan: AppPlan, wish: PastWish, deployment: Deployment, before: Deployment | None
    ) -> PastSpan:
        """What the app is to fold. Whatever is refused is refused here, before it has logs. Problem
        409, HistoryError, SiddhiQLError, UnavailableError."""
        place = self._place
        if place is None:
            raise Problem(
                HTTPStatus.CONFLICT, "there is no archive to begin from",
                hint="archive.folder says where it is, to all services",
            )  # fmt: skip
        if deployment.layout:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"'{plan.name}' is cut into several units, which cannot begin with a past yet",
                hint=STAYS_CUT if before is not None and before.layout else BEGIN_WHOLE,
            )
        app = wish.app or plan.name
        return await self._offload.run(lambda: past_of(plan, place, app, wish.from_ms))

    async def found(
        self, wish: PastWish, span: PastSpan, deployment: Deployment, before: Deployment | None
    ) -> tuple[FoundPast, Origin]:
        """The same as a past, and what the app goes on from then. UnavailableError."""
        app = deployment.app
        origin, life = deployment.origin, deployment.life
        own = (span.logs.app, span.logs.since_ms) == (app, origin.logs_since_ms)
        up_to = 0 if own else await self._end_of(span)
        was = None if before is None else Before(before.text, before.settings, before.replicas)
        past = Past(
            span.logs.app, span.logs.since_ms, span.after, up_to, wish.output, life, before=was
        )
        if before is None and life.number == 1:
            origin = await self._beginning_of(deployment)
        self.forget_failure(app)
        found = FoundPast(past, span.begins_ms, span.archived_to, span.ignored)
        return found, replace(origin, past=past)

    async def _end_of(self, span: PastSpan) -> Position:
        """Of another log: as far as it is now."""
        name = LogName(span.logs.app, since_ms=span.logs.since_ms)
        try:
            _, end = await (await self._bus.input_log(name, make=False)).bounds()
        except LogGoneError:
            return span.archived_to
        return max(end, span.archived_to)

    async def _beginning_of(self, deployment: Deployment) -> Origin:
        """Of a new app: behind the first record of its log, which this writes if need be, as rows
        of the past stand at a position. UnavailableError."""
        origin = deployment.origin
        if origin.position:
            return origin
        log = await self._bus.input_log(log_of(deployment))
        began_ms = deployment.life.deployed_ms
        first = await log.append(TickRecord(began_ms), dedup_id=f"past/{began_ms}")
        return replace(origin, position=first.position)

    async def is_pending(self, deployment: Deployment) -> bool:
        """It has not begun with its past yet, as its output log says. UnavailableError."""
        if deployment.origin.past is None or deployment.layout:
            return False
        tail = await (await self._bus.output_log(log_of(deployment), make=False)).tail()
        there = tail.generation
        return there is None or deployment.origin.past_for(there.life) is not None

    async def may_be_called_off(self, deployment: Deployment) -> bool:
        """The same; also where nobody can tell, as its log is away."""
        try:
            return await self.is_pending(deployment)
        except UnavailableError:
            return True

    async def refuse_pending(self, deployment: Deployment) -> None:
        """Problem 409 while the past is on its way: what is asked for now would meet another state
        than the one that is there in a moment."""
        if await self.is_pending(deployment):
            raise Problem(
                HTTPStatus.CONFLICT, f"'{deployment.app}' is still folding its past",
                hint=f"wait for it, or call it off: `lockstep cancel {deployment.app}`",
            )  # fmt: skip

    async def forget(self, deployment: Deployment, clock: Clock) -> None:
        """Removes progress and rows of a past that was called off, once no living processor writes
        them. UnavailableError."""
        past, place = deployment.origin.past, self._place
        if past is None:
            return
        deadline_ms = clock.monotonic_ms() + ABANDON_LIMIT_MS
        while self._is_folded(deployment) and clock.monotonic_ms() < deadline_ms:
            await clock.sleep_ms(ABANDON_POLL_MS)
        await forget_progress(self._revisions, log_of(deployment), past.life)
        if place is not None and past.output == PAST_ARCHIVE:
            await self._offload.run(lambda: remove_rows(place, deployment.app, past.life))

    def _is_folded(self, deployment: Deployment) -> bool:
        own = deployment.life
        return any(
            one.past is not None
            and (one.deployed_ms, one.past.generation) == (own.deployed_ms, own.number)
            and one.past.is_under_way
            for _, one in self._watch.groups(deployment.app)
        )

    def status(self, app: str, deployment: Deployment | None) -> PastStatus | None:
        """How far it is, from heartbeats; None where no past is wanted, or was."""
        past = None if deployment is None else deployment.origin.past
        if past is None:
            return self._failures.get(app)
        # The latest first: one that has died is still heard of for a while.
        leading = [one for _, one in self._watch.groups(app) if one.leads]
        leading.sort(key=lambda one: one.epoch, reverse=True)
        said = [one.past for one in leading if one.past is not None]
        mine = next((one for one in said if one.generation >= past.life.number), None)
        if any(one.generation >= past.life.number for one in leading):
            number = past.life.number
            return mine if mine is not None and mine.phase == PAST_DONE else _done(number)
        return mine or PastStatus(past.life.number, WAITING)

    def forget_failure(self, app: str) -> None:
        """Another past is wanted."""
        self._failures.pop(app, None)

    def note_failure(self, app: str, status: PastStatus) -> None:
        """For whoever asks later; the oldest is forgotten."""
        self._failures.pop(app, None)
        self._failures[app] = status
        if len(self._failures) > MAX_FAILURES:
            del self._failures[next(iter(self._failures))]


def _done(number: int) -> PastStatus:
    return PastStatus(number, PAST_DONE)


def failed(
    deployments: Sequence[Deployment], groups: Iterable[GroupStatus]
) -> list[tuple[str, PastStatus]]:
    """The apps whose leader cannot fold the past that is wanted of them. Pure."""
    wanted = {one.app: one for one in deployments if one.origin.past is not None}
    return [
        (group.app, group.past)
        for group in groups
        if group.leads
        and group.past is not None
        and group.app in wanted
        and group.past.has_failed_in(wanted[group.app].life.number)
        and group.deployed_ms == wanted[group.app].life.deployed_ms
    ]
