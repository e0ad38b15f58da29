"""How long a row takes from the door through a channel to the next group: processes as in
production, on the reference executor.

The input log and both groups' output logs are read here. A hop lasts from the arrival of a row of
the first group to that of the row which it brought in the second one. Both come in the same way, so
what reading costs is in neither. Times from the door begin when a message is sent to the bus.
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
from lockstep.events.columns import EventColumns
from lockstep.frame import World
from tests.bench.suite import READY_LIMIT_S, fresh_suite

APP: Final = "Hop"
PARTITIONS: Final = 2
EVENTS_PER_S: Final = 1_000
EVENTS_PER_SEND: Final = 10
SECONDS: Final = 20.0
WARM_UP_S: Final = 5.0
BAR_P50_MS: Final = 30.0
SETTLE_S: Final = 5.0
PRICE: Final = 50.0
STEP: Final = 2.0**-16
"""The price of an event tells the number of its send."""

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


async def _positions(world: World, name: LogName, sent: list[float], found: Times) -> None:
    """When the first event of each position was sent, which its price tells; until cancelled."""
    log, after = await world.bus.input_log(name), 0
    while True:
        for entry in await log.read_encoded(after, max_records=256, max_bytes=2**24, wait_ms=1_000):
            after = entry.position
            columns = entry.columns()
            if isinstance(columns, EventColumns):
                price = columns.batch.column(1)[0].as_py()
                found[entry.position] = sent[round((price - PRICE) / STEP)]


def _quantiles(name: str, took_ms: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(took_ms, n=100)
    return {f"{name}p50_ms": round(cuts[49], 1), f"{name}p99_ms": round(cuts[98], 1)}


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
        sent: list[float] = []
        begun_at: Times = {}
        source = next(each for each in await world.bus.logs(APP) if each not in names)
        reading.append(asyncio.create_task(_positions(world, source, sent, begun_at)))
        under_way: set[asyncio.Task[Any]] = set()
        begun = time.monotonic()
        sends_per_s = EVENTS_PER_S / EVENTS_PER_SEND
        for number in range(round(sends_per_s * (WARM_UP_S + SECONDS))):
            await asyncio.sleep(max(0.0, begun + number / sends_per_s - time.monotonic()))
            price = PRICE + number * STEP
            events = [
                {"symbol": f"SYM{(number + each) % 100}", "price": price, "volume": each % 10}
                for each in range(EVENTS_PER_SEND)
            ]
            sent.append(time.monotonic())
            sending = world.bus.ingress.publish(APP, "Trade", msgspec.json.encode(events))
            under_way.add(asyncio.create_task(sending))
            under_way -= {each for each in under_way if each.done()}
        await asyncio.gather(*under_way)
        await asyncio.sleep(SETTLE_S)
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    one, other = (times[group] for group in groups)
    both = one.keys() & other.keys()
    if statistics.median(one[at] - other[at] for at in both) > 0:
        one, other = other, one  # groups are in the order of names
    later = begun + WARM_UP_S
    whole = [at for at in begun_at.keys() & one.keys() & other.keys() if one[at] > later]
    hop = _quantiles("", [1000 * (other[at] - one[at]) for at in whole])
    return {
        "name": f"door to channel to next group at {EVENTS_PER_S:,} events/s",
        "positions": len(whole),
        **_quantiles("door_to_first_group_", [1000 * (one[at] - begun_at[at]) for at in whole]),
        **{f"hop_{name}": ms for name, ms in hop.items()},
        **_quantiles("door_to_next_group_", [1000 * (other[at] - begun_at[at]) for at in whole]),
        "below": hop["p50_ms"] > BAR_P50_MS,
    }
