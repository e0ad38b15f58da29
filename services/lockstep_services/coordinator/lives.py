"""Which life of an app is the latest. The store says so, and so do the app's output logs: a store
that was brought back from an older backup knows an earlier one than its processors run, and these
take no other text for a later one before its life is later than theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from lockstep.bus import Bus, LogGoneError, LogName
from lockstep.control import GroupStatus, group_and_layout, log_of
from lockstep.events import Life
from lockstep.frame import Problem
from lockstep.store import Deployment, Deployments, Stale, Written
from lockstep_services.coordinator.app_logs import AppLogs

SECOND: Final = 2
"""The life behind the first one: there is none between them."""


async def latest_life(bus: Bus, one: Deployment) -> Life:
    """Of what is deployed, or was last: that, or a later one that its output logs bear. Problem 409
    where they go on with what the store does not know, and no next life could go on from.
    UnavailableError."""
    listed = [each for each in await bus.logs(one.app) if each.since_ms == log_of(one).since_ms]
    layouts = {each: group_and_layout(each.group)[1] for each in (log_of(one), *listed)}
    later = [each for each, layout in layouts.items() if layout > one.layout]
    if await _claimed(bus, later):
        raise _unknown(one, "a layout")
    own = [each for each, layout in layouts.items() if layout == one.layout]
    latest = max([one.life, *await _claimed(bus, own)])
    if latest.deployed_ms > one.life.deployed_ms:
        raise _unknown(one, "a deployment")
    return latest


async def is_latest(bus: Bus, one: Deployment) -> bool:
    """No processor runs a later life than what is deployed has. Problem 409, UnavailableError."""
    return await latest_life(bus, one) == one.life


async def refuse_earlier(bus: Bus, one: Deployment) -> None:
    """Problem 409 where processors run a later life than the store knows: what is wanted beside its
    text would bring them the text as well. UnavailableError."""
    if not await is_latest(bus, one):
        raise Problem(
            HTTPStatus.CONFLICT,
            f"'{one.app}' runs a later generation than the store knows: an older backup of its"
            " database was brought back",
            hint="deploy the text that shall run, then repeat this",
        )


def runs_later(one: Deployment, said: Iterable[GroupStatus]) -> str | None:
    """What an app waits for while processors run a later life than the store knows, for people;
    None while none does."""
    own = (each.generation for each in said if each.deployed_ms == one.life.deployed_ms)
    number = max(own, default=0)
    if number <= one.life.number:
        return None
    return (
        f"the text to be deployed again: generation {number} runs,"
        f" the store knows {one.life.number}"
    )


async def catch_up(
    deployments: Deployments,
    logs: AppLogs,
    following: Deployment,
    there: Sequence[Deployment],
    *,
    epoch: int,
) -> Written | Stale:
    """The store takes the next life alone. What it has of the app is written again under those in
    front of `following`, so that this one is the next. No processor gives way to any of them.
    `there`: what is deployed."""
    if following.life.number <= SECOND:
        return Written()
    before = next((one for one in there if one.app == following.app), None)
    before = before or await logs.kept(following.app)
    if before is None or before.life.deployed_ms != following.life.deployed_ms:
        return Stale(epoch)  # somebody else wrote meanwhile
    for number in range(before.life.number + 1, following.life.number):
        one = replace(before, life=replace(before.life, number=number))
        outcome = await deployments.put(one, epoch=epoch)
        if isinstance(outcome, Stale):
            return outcome
    return Written()


async def _claimed(bus: Bus, logs: Sequence[LogName]) -> list[Life]:
    """The lives that output logs bear; a log that is missing bears none."""
    found: list[Life] = []
    for name in logs:
        try:
            tail = await (await bus.output_log(name, make=False)).tail()
        except LogGoneError:
            continue
        if tail.generation is not None:
            found.append(tail.generation.life)
    return found


def _unknown(one: Deployment, what: str) -> Problem:
    return Problem(
        HTTPStatus.CONFLICT,
        f"the logs of '{one.app}' go on with {what} that the store does not know: an older backup"
        " of its database was brought back",
        hint="bring a newer backup back; without one `lockstep undeploy --purge` removes the logs,"
        " and the app begins empty when it is deployed again",
    )
