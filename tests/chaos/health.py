"""Whether the suite is whole again: asked after every fault, within a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.clock import SystemClock
from tests.chaos.load import Load
from tests.chaos.site import Site

CLOCK = SystemClock()
POLL_S = 0.2
REPLICAS = 2
INPUTS_ARCHIVED = "archive.input"


class NotHealedError(Exception):
    """The suite did not become whole in time: the fault has found something."""


class Arriving(Protocol):
    """What an app puts out, as it is archived."""

    @property
    def came(self) -> int:
        """How many records with rows have arrived."""


@dataclass(frozen=True, slots=True)
class Course:
    """An app under chaos: what it is sent and what it puts out."""

    app: str
    load: Load
    archive: Arriving


async def until_ready(site: Site, limit_ms: int) -> None:
    """Once every process says that it is."""
    deadline_ms = CLOCK.monotonic_ms() + limit_ms
    while missing := await _unready(site):
        site.revive()
        if CLOCK.monotonic_ms() > deadline_ms:
            raise NotHealedError(f"after {limit_ms} ms: {'; '.join(missing)}")
        await asyncio.sleep(POLL_S)


async def until_whole(site: Site, courses: Sequence[Course], limit_ms: int) -> int:
    """How long it took from now: everybody ready and, of each app, each unit led by one and stood
    by for, everything that was acknowledged before settled and folded by both, new events taken
    and new rows published, and the sinks without trouble."""
    began_ms = CLOCK.monotonic_ms()
    before = [(one.load.events, one.load.last_position, one.archive.came) for one in courses]
    while True:
        site.revive()
        missing = await _unready(site)
        for course, (events, position, came) in zip(courses, before, strict=True):
            unwell = []
            if course.load.events <= events:
                unwell.append("no event was taken")
            if course.archive.came <= came:
                unwell.append("no row was published")
            unwell += _unwell(await site.status(course.app), position)
            missing += [f"{course.app}: {one}" for one in unwell]
        took_ms = CLOCK.monotonic_ms() - began_ms
        if not missing:
            return took_ms
        if took_ms > limit_ms:
            raise NotHealedError(f"after {took_ms} ms: {'; '.join(missing)}")
        await asyncio.sleep(POLL_S)


async def until_settled(site: Site, app: str, position: int, limit_ms: int) -> int:
    """Up to where all units of the app have settled, once that is at least `position`."""
    deadline_ms = CLOCK.monotonic_ms() + limit_ms
    while True:
        status = await site.status(app)
        settled = min((_settled(status, one["unit"]) for one in _units(status)), default=0)
        if settled >= position:
            return settled
        if CLOCK.monotonic_ms() > deadline_ms:
            raise NotHealedError(f"settled {settled} of {position}: {status}")
        await asyncio.sleep(POLL_S)


async def until_delivered(site: Site, app: str, cursor: int, limit_ms: int) -> None:
    """Once all sinks of the app are there: at a sequence of its output log, of a fleet at a
    position of its input log."""
    await _until_sinks(site, app, lambda name: name != INPUTS_ARCHIVED, cursor, limit_ms)


async def until_archived(site: Site, app: str, position: int, limit_ms: int) -> None:
    """Once the archive has the input log up to a position."""
    await _until_sinks(site, app, lambda name: name == INPUTS_ARCHIVED, position, limit_ms)


async def _until_sinks(
    site: Site, app: str, wanted: Callable[[str], bool], cursor: int, limit_ms: int
) -> None:
    deadline_ms = CLOCK.monotonic_ms() + limit_ms
    while True:
        sinks = (await site.status(app)).get("sinks", [])
        found = {one["sink"]: one["sequence"] for one in sinks if wanted(one["sink"])}
        if found and min(found.values()) >= cursor:
            return
        if CLOCK.monotonic_ms() > deadline_ms:
            raise NotHealedError(f"sinks of {app} are at {found}, not at {cursor}")
        await asyncio.sleep(POLL_S)


async def _unready(site: Site) -> list[str]:
    async def ask(node: str) -> str | None:
        answer = await site.ask(f"{site.processes[node].url}/readyz")
        return None if answer is not None else f"{node} is not ready"

    found = await asyncio.gather(*(ask(node) for node in site.processes))
    return [each for each in found if each is not None]


def _unwell(status: dict[str, Any], position: int) -> list[str]:
    missing = []
    for unit in _units(status):
        missing += [f"{unit['unit']}: {one}" for one in _unit_unwell(status, unit, position)]
    sinks = status.get("sinks", [])
    if not sinks:
        missing.append("nobody delivers")
    missing += [f"sink {s['sink']}: {s['trouble']}" for s in sinks if s.get("trouble")]
    return missing if status else ["no coordinator answers"]


def _unit_unwell(status: dict[str, Any], unit: dict[str, Any], position: int) -> list[str]:
    replicas = [one for one in status["replicas"] if one["unit"] == unit["unit"]]
    active = [one for one in replicas if one["role"] == "active"]
    ready = [one for one in replicas if one["ready"]]
    missing = []
    if len(active) != 1:
        missing.append(f"{len(active)} active replicas")
    if len(ready) < REPLICAS:
        missing.append(f"{len(ready)} ready replicas")
    if active and active[0]["settled"] < position:
        missing.append(f"settled {active[0]['settled']} of {position}")
    return missing + [
        f"{r['node']} is at {r['position']}" for r in ready if r["position"] < position
    ]


def _units(status: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = status.get("units", [])
    return found


def _settled(status: dict[str, Any], unit: str) -> int:
    said = (one["settled"] for one in status["replicas"] if one["unit"] == unit)
    return max(said, default=0)
