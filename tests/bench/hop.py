"""How long a row takes from group to group: processes as in production, on the reference executor.

Both groups' output logs are read here. A hop lasts from the arrival of a row of the first group to
that of the row which it brought in the second one. Both come in the same way, so what reading costs
is in neither.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any, Final

import msgspec

from lockstep.bus import LogName
from lockstep.control.units import group_and_layout
from lockstep.events import OutputRecord, Position
from lockstep.frame import World
from tests.bench.suite import READY_LIMIT_S, fresh_suite

APP: Final = "Hop"
PARTITIONS: Final = 2
EVENTS_PER_S: Final = 1_000
SECONDS: Final = 20.0
WARM_UP_S: Final = 5.0
BAR_P50_MS: Final = 30.0
SETTLE_S: Final = 5.0

Times = dict[Position, float]


async def _arrivals(world: World, name: LogName, found: Times) -> None:
    """When the first row of each position was there; until cancelled."""
    log, after = await world.bus.output_log(name), 0
    while True:
        for entry in await log.read(after, max_records=256, max_bytes=2**24, wait_ms=1_000):
            after = entry.sequence
            if isinstance(entry.record, OutputRecord):
                for row in entry.record.rows:
                    found.setdefault(row.id.position, time.monotonic())


async def hop_figures(text: str) -> dict[str, Any]:
    """The hop between the two groups of an app, at a set rate, one event in a send."""
    overrides = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference"}
    async with fresh_suite(False, overrides=overrides) as (_, world, client):
        live = text.replace("@app:playback", f"@app:name('{APP}')")
        await client.deploy(live, parallel=PARTITIONS)
        async with asyncio.timeout(READY_LIMIT_S):
            while True:
                status = await client.status(APP)
                active = [each for each in status["replicas"] if each["role"] == "active"]
                if len(active) == 2 * PARTITIONS and all(each["ready"] for each in active):
                    break
                await asyncio.sleep(0.1)
        names = [each for each in await world.bus.logs(APP) if group_and_layout(each.group)[1]]
        groups = sorted({each.group for each in names})
        times: dict[str, Times] = {group: {} for group in groups}
        reading = [asyncio.create_task(_arrivals(world, each, times[each.group])) for each in names]
        under_way: set[asyncio.Task[Any]] = set()
        begun = time.monotonic()
        for number in range(round(EVENTS_PER_S * (WARM_UP_S + SECONDS))):
            await asyncio.sleep(max(0.0, begun + number / EVENTS_PER_S - time.monotonic()))
            event = {"symbol": f"SYM{number % 100}", "price": 50.0, "volume": number % 10}
            sending = world.bus.ingress.publish(APP, "Trade", msgspec.json.encode(event))
            under_way.add(asyncio.create_task(sending))
            under_way -= {each for each in under_way if each.done()}
        await asyncio.gather(*under_way)
        await asyncio.sleep(SETTLE_S)
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    one, other = (times[group] for group in groups)
    later = begun + WARM_UP_S
    both = [1000 * abs(other[at] - one[at]) for at in one.keys() & other.keys() if one[at] > later]
    cuts = statistics.quantiles(both, n=100)
    return {
        "name": f"a hop from group to group at {EVENTS_PER_S:,} events/s",
        "positions": len(both),
        "p50_ms": round(cuts[49], 1),
        "p99_ms": round(cuts[98], 1),
        "below": cuts[49] > BAR_P50_MS,
    }
