"""What one app on several partitions costs. Run by `python -m tests.bench.run --part fleet`.

The units of an app in this process: processor time for each event, all units together, with 1, 2, 4
and 8 partitions, and of one of them alone. Then, on a real NATS: how many events one input log
takes, and how many rows go through one channel.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lockstep.bus import LogName
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import Gathering, Mark, send_mark
from lockstep.embedded import EmbeddedServers
from lockstep.events import ClaimRecord, OutputRecord
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import in_columns
from lockstep.execute.local import open_local
from lockstep.fleet import FleetExecutor
from lockstep.frame import World, open_world
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.settings import load_settings
from tests.bench.queries import TRADES
from tests.bench.workload import Log, numpy_seconds, slices_of

PARTITIONS: Final = (1, 2, 4, 8)
EVENTS: Final = 400_000
SLICE_RECORDS: Final = 5
BAR: Final = 1.3
IN_FLIGHT: Final = 8
RECORD_SIZES: Final = (100, 1_000, 10_000)
DOOR_EVENTS: Final = 1_000_000
APPS: Final = {
    "windows by key": TRADES
    + "partition with (symbol of Trade) begin from Trade#window.time(1 min)"
    " select symbol, avg(price) as a, sum(volume) as v, count() as c insert into Out; end;",
    "by key, then by another key": TRADES
    + "partition with (symbol of Trade) begin from Trade[price > 10.0]#window.length(50)"
    " select symbol, volume, avg(price) as a insert into Mid; end;"
    " partition with (volume of Mid) begin from Mid#window.length(10)"
    " select volume, avg(a) as b, count() as c insert into Out; end;",
}

Row = dict[str, Any]


def seconds_of(fleet: FleetExecutor, slices: Sequence[Sequence[EncodedEntry]]) -> tuple[float, int]:
    """(processor seconds, rows)."""
    rows = 0
    begun = time.process_time()
    for each in slices:
        rows += len(fleet.run_encoded(each).rows)
    return time.process_time() - begun, rows


def unit_figures(runs: int) -> list[Row]:
    """Processor time of all units of an app together, one number of partitions beside the other."""
    found: list[Row] = []
    for name, text in APPS.items():
        plan = plan_of(text)
        fleets = {n: FleetExecutor(fleet_of(plan, n), open_local) for n in PARTITIONS}
        log = Log([plan.checked.streams["Trade"]])
        took: dict[int, list[float]] = {n: [] for n in PARTITIONS}
        counted: dict[int, int] = {}
        for run in range(runs + 1):
            slices = slices_of(log.take(EVENTS), SLICE_RECORDS)
            for n, fleet in fleets.items():
                seconds, counted[n] = seconds_of(fleet, slices)
                if run:  # the first one warms up
                    took[n].append(seconds)
        assert len(set(counted.values())) == 1, counted
        one = statistics.median(took[1])
        for n in PARTITIONS:
            median = statistics.median(took[n])
            found.append(
                {
                    "name": f"{name}, {n} partitions",
                    "units": len(fleets[n].units),
                    "ns_per_event": round(1e9 * median / EVENTS),
                    "of_one": round(median / one, 2),
                    "events_per_second_and_core": round(EVENTS / median),
                    "below": median / one > BAR,
                }
            )
            fleets[n].close()
    return found


async def _door(world: World) -> list[Row]:
    """Events that one input log takes, by the size of its records."""
    found: list[Row] = []
    plan = plan_of(APPS["windows by key"])
    for size in RECORD_SIZES:
        log = await world.bus.input_log(LogName(f"Door{size}"))
        payloads = [each.payload for each in Log([plan.checked.streams["Trade"]]).take(
            min(DOOR_EVENTS, 500 * size), size)]  # fmt: skip
        waiting = iter(payloads)
        begun = time.perf_counter()

        async def send(log: Any = log, waiting: Any = waiting) -> None:
            for payload in waiting:
                await log.append_encoded(payload)

        await asyncio.gather(*(send() for _ in range(IN_FLIGHT)))
        seconds = time.perf_counter() - begun
        found.append(
            {
                "name": f"one input log, records of {size:,}",
                "events_per_second": round(len(payloads) * size / seconds),
                "mb_per_second": round(sum(map(len, payloads)) / seconds / 1e6, 1),
            }
        )
    return found


async def _channel(world: World) -> Row:
    """Rows from an output log to who reads it, appended while they are read."""
    plan = plan_of(APPS["by key, then by another key"])
    executor = FleetExecutor(fleet_of(plan, 1), open_local)
    rows = in_columns(
        open_local(plan_of(TRADES + "from Trade select * insert into Out;"))
        .run_encoded(Log([plan.checked.streams["Trade"]]).take(200_000))
        .rows
    )
    executor.close()
    name = LogName("Channel", "by_symbol~1")
    log = await world.bus.output_log(name)
    await log.append(ClaimRecord(1, "bench", 0), expected_sequence=0)
    gathering = Gathering(world.bus, [name], SystemClock(), after=0, max_rows=10**6)
    reading = asyncio.create_task(gathering.run())
    begun = time.perf_counter()
    sequence, last = 1, rows[-1].id.position
    for at in range(0, len(rows), 10_000):
        record = OutputRecord(1, rows[at : at + 10_000])
        await log.append(record, expected_sequence=sequence)
        sequence = (await log.tail()).sequence
    mark = Mark(name.app, name.group, name.partition, name.since_ms, last, sequence)
    while gathering.complete_to < last:
        await send_mark(world.bus.topics, mark)
        await asyncio.sleep(0.005)
    taken = len(gathering.take(last)[0])
    seconds = time.perf_counter() - begun
    reading.cancel()
    await asyncio.wait({reading})
    assert taken == len(rows)
    return {"name": "one channel", "rows_per_second": round(taken / seconds)}


async def _on_nats() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        async with EmbeddedServers.start(
            Path(directory), want=["nats"], sync_interval="2m"
        ) as servers:
            given = {
                **servers.environment(),
                "LOCKSTEP_STORE__KIND": "memory",
                "LOCKSTEP_LEADER__KIND": "memory",
            }
            world = await open_world(load_settings(given), SystemClock(), SystemRandomness())
            try:
                return [*await _door(world), await _channel(world)]
            finally:
                await world.close()


def fleet_figures(runs: int) -> list[Row]:
    """All of it, printed as it comes."""
    print(f"\nFleet (NumPy work {1000 * numpy_seconds():.1f} ms)")
    found = [*unit_figures(runs), *asyncio.run(_on_nats())]
    for row in found:
        print({key: value for key, value in row.items() if key != "below" or value})
    return found
