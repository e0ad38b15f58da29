"""Whether the suite is whole again: asked after every fault, within a bound."""

from __future__ import annotations

import asyncio
from typing import Any

from lockstep.clock import SystemClock
from tests.chaos.archive import Archive
from tests.chaos.load import Load
from tests.chaos.site import Site

CLOCK = SystemClock()
POLL_S = 0.2
REPLICAS = 2


class NotHealedError(Exception):
    """The suite did not become whole in time: the fault has found something."""


async def until_whole(site: Site, load: Load, archive: Archive, limit_ms: int) -> int:
    """How long it took from now: everybody ready, one leads, a standby is ready, everything that
    was acknowledged before is settled and folded by both, new events are taken and new rows
    published, the sinks have no trouble."""
    began_ms = CLOCK.monotonic_ms()
    events, position, arrivals = load.events, load.last_position, len(archive.arrivals)
    while True:
        site.revive()
        missing = await _unready(site)
        if load.events <= events:
            missing.append("no event was taken")
        if len(archive.arrivals) <= arrivals:
            missing.append("no row was published")
        missing += _unwell(await site.status(), position)
        took_ms = CLOCK.monotonic_ms() - began_ms
        if not missing:
            return took_ms
        if took_ms > limit_ms:
            raise NotHealedError(f"after {took_ms} ms: {'; '.join(missing)}")
        await asyncio.sleep(POLL_S)


async def until_delivered(site: Site, position: int, sequence: int, limit_ms: int) -> int:
    """The settled position, once it is at least `position` and all sinks are at `sequence`."""
    deadline_ms = CLOCK.monotonic_ms() + limit_ms
    while True:
        status = await site.status()
        settled = max((r["settled"] for r in status.get("replicas", [])), default=0)
        sinks = [sink["sequence"] for sink in status.get("sinks", [])]
        if settled >= position and sinks and min(sinks) >= sequence:
            return settled
        if CLOCK.monotonic_ms() > deadline_ms:
            raise NotHealedError(
                f"settled {settled} of {position}, sinks {sinks} of {sequence}: {status}"
            )
        await asyncio.sleep(POLL_S)


async def _unready(site: Site) -> list[str]:
    async def ask(node: str) -> str | None:
        answer = await site.ask(f"{site.processes[node].url}/readyz")
        return None if answer is not None else f"{node} is not ready"

    found = await asyncio.gather(*(ask(node) for node in site.processes))
    return [each for each in found if each is not None]


def _unwell(status: dict[str, Any], position: int) -> list[str]:
    replicas = status.get("replicas", [])
    sinks = status.get("sinks", [])
    active = [r for r in replicas if r["role"] == "active"]
    ready = [r for r in replicas if r["ready"]]
    missing = []
    if len(active) != 1:
        missing.append(f"{len(active)} active replicas")
    if len(ready) < REPLICAS:
        missing.append(f"{len(ready)} ready replicas")
    if active and active[0]["settled"] < position:
        missing.append(f"settled {active[0]['settled']} of {position}")
    missing += [f"{r['node']} is at {r['position']}" for r in ready if r["position"] < position]
    if not sinks:
        missing.append("nobody delivers")
    missing += [f"sink {s['sink']}: {s['trouble']}" for s in sinks if s.get("trouble")]
    return missing
