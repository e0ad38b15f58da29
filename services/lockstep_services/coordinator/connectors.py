"""How an app's sources and sinks are doing, and pausing them. Every write carries the leading
coordinator's epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypedDict

from lockstep.clock import Clock
from lockstep.control import (
    Connector,
    ConnectorHealth,
    ConnectorState,
    Heartbeat,
    HeartbeatWatch,
    connectors_of,
)
from lockstep.frame import Problem
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.store import Deployment, Pause, Store
from lockstep.telemetry import Logger
from lockstep_services.coordinator.desired import DesiredState, Epoch, nudged

UNKNOWN: Final = "unknown"
"""No process tells of it."""
RUNS: Final = {"source": "receiver", "sink": "publisher"}
WORST: Final = (
    ConnectorState.FAILED,
    ConnectorState.RETRYING,
    ConnectorState.RUNNING,
    ConnectorState.PAUSED,
)
"""Of what several receivers tell of a source the first counts: it is paused when all say so."""

Told = tuple[str, ConnectorHealth]
"""By which node."""


class ConnectorLine(TypedDict):
    """A source or sink. `state`: running, paused, retrying, failed, or unknown where no process
    tells of it; since `since_ms`, with its `reason`. `last_error` was at `last_error_ms`, also
    where it was overcome; 0: there was none. `per_s`: events in or rows out in a second, lately.
    `pause`: who wants it paused, since when and why; null: nobody. `nodes` run it."""

    element: str
    kind: str
    stream: str
    type: str
    state: str
    since_ms: int
    reason: str
    last_error: str
    last_error_ms: int
    per_s: float
    pause: PauseLine | None
    can_pause: bool
    nodes: list[str]


class PauseLine(TypedDict):
    """Why something is paused."""

    who: str
    why: str
    since_ms: int


def line_of(one: Connector, pause: Pause | None, told: Sequence[Told]) -> ConnectorLine:
    """What is known of it. Pure."""
    said = min((health for _, health in told), key=_rank, default=None)
    erred = max((health for _, health in told), key=lambda each: each.last_error_ms, default=None)
    state, since_ms, reason = _state(one, pause, said)
    return {
        "element": one.element,
        "kind": one.kind,
        "stream": one.stream,
        "type": one.type,
        "state": state,
        "since_ms": since_ms,
        "reason": reason,
        "last_error": "" if erred is None else erred.last_error,
        "last_error_ms": 0 if erred is None else erred.last_error_ms,
        "per_s": round(sum(health.per_s for _, health in told), 1),
        "pause": None if pause is None else _pause_line(pause),
        "can_pause": not one.brings_answers,
        "nodes": [node for node, _ in told],
    }


def _rank(health: ConnectorHealth) -> tuple[int, int]:
    return WORST.index(health.state), health.since_ms


def _state(
    one: Connector, pause: Pause | None, said: ConnectorHealth | None
) -> tuple[str, int, str]:
    """Its state, since when, and why."""
    if said is None and pause is None:
        return UNKNOWN, 0, f"no {RUNS[one.kind]} tells of it"
    if pause is not None and (said is None or said.state is ConnectorState.PAUSED):
        why = f": {pause.why}" if pause.why else ""
        return ConnectorState.PAUSED.value, pause.since_ms, f"paused by {pause.who}{why}"
    assert said is not None
    reason = said.reason
    if pause is not None:
        reason = f"{reason}; it will be paused" if reason else "it will be paused in a moment"
    elif said.state is ConnectorState.PAUSED:
        reason = "it will go on in a moment"
    return said.state.value, said.since_ms, reason


def _pause_line(pause: Pause) -> PauseLine:
    return {"who": pause.who, "why": pause.why, "since_ms": pause.since_ms}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who wants something paused, and why."""

    who: str
    why: str = ""


class Connectors:
    """Of all apps. What was paused stays so until it is resumed, or the app is undeployed."""

    def __init__(
        self,
        store: Store,
        desired: DesiredState,
        watch: HeartbeatWatch,
        epoch: Epoch,
        clock: Clock,
        log: Logger,
    ) -> None:
        self._store = store
        self._desired = desired
        self._watch = watch
        self._epoch = epoch
        self._clock = clock
        self._log = log

    async def lines(self, deployment: Deployment) -> list[ConnectorLine]:
        """How each of an app's is doing."""
        app = deployment.app
        told = _told(app, [*self._watch.alive("receiver"), *self._watch.alive("publisher")])
        pauses = {one.element: one for one in await self._pauses(app)}
        try:
            there = await self._all(deployment)
        except SiddhiQLError:
            there = []  # its text is not valid here, as the rest of its status says
        return [line_of(one, pauses.get(one.element), told.get(one.element, ())) for one in there]

    async def pause(self, app: str, element: str | None, wanted: Wanted) -> list[str]:
        """One, or all that there are; which are paused now. Problem 404 for one that there is not,
        409 for one that cannot be paused, or when it raced."""
        now_ms = self._clock.now_ms()

        def after(found: Sequence[Connector], before: Sequence[Pause]) -> list[Pause]:
            there = {one.element: one for one in before}
            for one in found:
                new = Pause(app, one.element, now_ms, wanted.who, wanted.why)
                there.setdefault(one.element, new)
            return list(there.values())

        return await self._change(app, element, after)

    async def resume(self, app: str, element: str | None) -> list[str]:
        """The same; all: also those that a former text had."""

        def after(found: Sequence[Connector], before: Sequence[Pause]) -> list[Pause]:
            going = {one.element for one in found}
            return [] if element is None else [one for one in before if one.element not in going]

        return await self._change(app, element, after)

    async def _change(
        self,
        app: str,
        element: str | None,
        after: Callable[[Sequence[Connector], Sequence[Pause]], list[Pause]],
    ) -> list[str]:
        async with self._desired.one_at_a_time(app):
            there = await self._all(await self._desired.get(app))
            chosen = [one for one in there if not one.brings_answers]
            if element is not None:
                chosen = [_named(element, there, app)]
            before = await self._pauses(app)
            wanted = after(chosen, before)
            if wanted != before:
                await self._put(app, wanted)
        return [one.element for one in wanted]

    async def _put(self, app: str, pauses: Sequence[Pause]) -> None:
        put = self._store.deployments.put_pauses
        await self._epoch.write(app, lambda epoch: put(app, pauses, epoch=epoch))
        self._log.info("paused", app=app, elements=[one.element for one in pauses])
        await nudged(self._desired, self._log)

    async def _pauses(self, app: str) -> list[Pause]:
        return [one for one in await self._store.deployments.pauses() if one.app == app]

    async def _all(self, deployment: Deployment) -> list[Connector]:
        return connectors_of(await self._desired.layouts.view(deployment))


def _told(app: str, beats: Iterable[Heartbeat]) -> dict[str, list[Told]]:
    """By element."""
    found: dict[str, list[Told]] = {}
    for beat in beats:
        for one in beat.connectors:
            if one.app == app:
                found.setdefault(one.element, []).append((beat.node, one))
    return found


def _named(name: str, there: Sequence[Connector], app: str) -> Connector:
    """By its element; without its kind, or by its stream alone, where that says which."""
    for fits in (
        [one for one in there if one.element == name],
        [one for one in there if one.name == name],
        [one for one in there if one.stream == name],
    ):
        if len(fits) > 1:
            names = ", ".join(one.element for one in fits)
            raise Problem(
                HTTPStatus.BAD_REQUEST, f"'{name}' may be {names}", hint="name one of these"
            )
        if fits:
            return _pausable(fits[0])
    if not there:
        raise Problem(HTTPStatus.NOT_FOUND, f"app '{app}' has no sources and no sinks")
    raise Problem(
        HTTPStatus.NOT_FOUND, f"app '{app}' has no source or sink '{name}'",
        hint=did_you_mean(name, [one.element for one in there]),
    )  # fmt: skip


def _pausable(one: Connector) -> Connector:
    if not one.brings_answers:
        return one
    raise Problem(
        HTTPStatus.CONFLICT,
        f"'{one.element}' brings the answers to calls that are under way",
        hint="pause the sink that calls",
    )
