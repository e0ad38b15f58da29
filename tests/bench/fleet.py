"""What one app on several partitions costs. Run by `python -m tests.bench.run --part fleet`.

The units of an app in this process: processor time for each event, all units added up, with 1, 2, 4
and 8 partitions; once as units of one processor, once as each on a processor of its own; and the
same with smaller records. Then, on a real NATS: how many events one input log takes, what it costs
to read it, how many rows go through one channel, and how long a row takes from group to group
(bench/hop.py).
"""

from __future__ import annotations

import asyncio
import os
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
from lockstep.fleet import FleetExecutor, units_of
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merger
from lockstep.fleet.indexing import KeyIndex
from lockstep.frame import World, open_world
from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.settings import load_settings
from tests.bench import memory
from tests.bench.hop import hop_figures
from tests.bench.queries import TRADES
from tests.bench.workload import RECORD_EVENTS, Log, numpy_seconds, slices_of

PARTITIONS: Final = (1, 2, 4, 8)
EVENTS: Final = 800_000
SLICE_EVENTS: Final = 100_000
"""Of each unit: a slice has so many times their number."""
SMALL: Final = {100: 80_000, 1_000: 800_000}
"""Smaller records: how many events each has, and how many are folded."""
BAR: Final = 1.3
IN_FLIGHT: Final = 8
RECORD_SIZES: Final = (100, 1_000, 10_000)
DOOR_EVENTS: Final = 1_000_000
TWO: Final = "by key, then by another key"
WINDOWS: Final = (
    TRADES + "partition with (symbol of Trade) begin from Trade#window.time(1 min)"
    " select symbol, avg(price) as a, sum(volume) as v, count() as c insert into Out; end;"
)
APPS: Final = {
    "windows by key": WINDOWS,
    "windows by key, live": WINDOWS.replace("@app:playback", ""),
    "a table by key": TRADES
    + "@PrimaryKey('symbol') define table Total (symbol string, volume long); "
    "from Trade left outer join Total on Trade.symbol == Total.symbol"
    " select Trade.symbol as symbol, coalesce(Total.volume, 0L) + Trade.volume as volume"
    " update or insert into Total on Total.symbol == symbol;"
    " from Trade[price > 50.0] join Total on Trade.symbol == Total.symbol"
    " select Trade.symbol as symbol, Total.volume as volume insert into Out;",
    TWO: TRADES
    + "partition with (symbol of Trade) begin from Trade[price > 10.0]#window.length(50)"
    " select symbol, volume, avg(price) as a insert into Mid; end;"
    " partition with (volume of Mid) begin from Mid#window.length(10)"
    " select volume, avg(a) as b, count() as c insert into Out; end;",
}

Row = dict[str, Any]


def fresh(entries: Sequence[EncodedEntry]) -> list[EncodedEntry]:
    """The same as they come from the bus: nobody has looked into them."""
    return [EncodedEntry(each.position, each.payload) for each in entries]


def together(
    fleet: FleetExecutor, entries: Sequence[EncodedEntry], size: int = RECORD_EVENTS
) -> tuple[float, int]:
    """(processor seconds, rows) of all units in one process, which decodes a record once. A slice
    has as many events for each unit, whatever their number; a record has `size` of them."""
    rows, begun = 0, time.process_time()
    records = SLICE_EVENTS // size * max(unit.group.partitions for unit in fleet.units)
    for each in slices_of(fresh(entries), records):
        rows += len(fleet.run_encoded(each).rows)
    return time.process_time() - begun, rows


class Apart:
    """The units of an app of one group as they are in processes of their own."""

    def __init__(self, fleet: FleetPlan) -> None:
        units = units_of(fleet)
        who = asking_of(units)
        self._members = [(Merger(unit, who), open_local(unit.plan.app)) for unit in units]

    def run(self, entries: Sequence[EncodedEntry]) -> tuple[float, int]:
        """(processor seconds, rows); each unit decodes for itself."""
        rows, begun = 0, time.process_time()
        for merger, executor in self._members:
            for each in slices_of(
                fresh(entries), SLICE_EVENTS // RECORD_EVENTS * len(self._members)
            ):
                result = executor.run_encoded(merger.merged(each, ()).entries)
                merger.clock_ms = result.clock_ms
                rows += len(result.rows)
        return time.process_time() - begun, rows

    def close(self) -> None:
        """Gives the executors back."""
        for _, executor in self._members:
            executor.close()


def unit_figures(runs: int) -> list[Row]:
    """Processor time of all units of an app together, one number of partitions beside the other."""
    found: list[Row] = []
    for name, text in APPS.items():
        plan = plan_of(text)
        cut = {n: fleet_of(plan, n) for n in PARTITIONS}
        fleets = {n: FleetExecutor(each, open_local) for n, each in cut.items()}
        apart = {n: Apart(each) for n, each in cut.items() if len(each.groups) == 1}
        index = KeyIndex(
            {unit.number: unit.plan for unit in fleets[PARTITIONS[-1]].units}.values()
        ).of
        log = Log([plan.checked.streams["Trade"]])
        took: dict[tuple[str, int], list[float]] = {}
        for run in range(runs + 1):
            entries, counted = log.take(EVENTS, index=index), set[int]()
            for n in PARTITIONS:
                seen = {"together": together(fleets[n], entries)}
                if n in apart:
                    seen["apart"] = apart[n].run(entries)
                for kind, (seconds, rows) in seen.items():
                    counted.add(rows)
                    if run:  # the first one warms up
                        took.setdefault((kind, n), []).append(seconds)
            assert len(counted) == 1, counted
        for (kind, n), measured in took.items():
            median, one = statistics.median(measured), statistics.median(took[kind, 1])
            found.append(
                {
                    "name": f"{name}, {n} partitions, {kind}",
                    "units": len(fleets[n].units),
                    "ns_per_event": round(1e9 * median / EVENTS),
                    "of_one": round(median / one, 2),
                    "events_per_second_and_core": round(EVENTS / median),
                    "below": median / one > BAR,
                }
            )
        for n in PARTITIONS:
            fleets[n].close()
            if n in apart:
                apart[n].close()
    return found


def record_figures(runs: int) -> list[Row]:
    """The same of small records, with one unit and with as many as there may be."""
    found: list[Row] = []
    for name, text in APPS.items():
        plan = plan_of(text)
        few, many = (
            FleetExecutor(fleet_of(plan, n), open_local) for n in (PARTITIONS[0], PARTITIONS[-1])
        )
        index = KeyIndex({unit.number: unit.plan for unit in many.units}.values()).of
        log = Log([plan.checked.streams["Trade"]])
        for size, events in SMALL.items():
            took: list[tuple[float, float]] = []
            for _ in range(runs + 1):
                entries = log.take(events, size, index=index)
                (one, rows), (all_, others) = (
                    together(each, entries, size) for each in (few, many)
                )
                assert rows == others
                took.append((one, all_))
            one, all_ = (statistics.median(each) for each in zip(*took[1:], strict=True))
            found.append(
                {
                    "name": f"{name}, records of {size:,}, {PARTITIONS[-1]} partitions",
                    "ns_per_event_of_one": round(1e9 * one / events),
                    "ns_per_event": round(1e9 * all_ / events),
                    "of_one": round(all_ / one, 2),
                }
            )
        few.close()
        many.close()
    return found


def _server_seconds() -> float:
    """Processor time of the children of this process, which are servers."""
    return memory.cpu_seconds(os.getpid()) - time.process_time()


async def _reading(world: World) -> list[Row]:
    """Processor time of reading an input log once, by the size of its records."""
    found: list[Row] = []
    for size in RECORD_SIZES:
        log = await world.bus.input_log(LogName(f"Door{size}"))
        _, last = await log.bounds()
        after, begun, servers = 0, time.process_time(), _server_seconds()
        while after < last:
            entries = await log.read_encoded(
                after, max_records=4_096, max_bytes=33_554_432, wait_ms=1_000
            )
            after = entries[-1].position
        used = time.process_time() - begun, _server_seconds() - servers
        reader, server = (round(1e9 * each / (last * size)) for each in used)
        found.append(
            {
                "name": f"reading it, records of {size:,}",
                "reader_ns_per_event": reader,
                "server_ns_per_event": server,
            }
        )
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
    plan = plan_of(APPS[TWO])
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
                return [*await _door(world), *await _reading(world), await _channel(world)]
            finally:
                await world.close()


def fleet_figures(runs: int) -> list[Row]:
    """All of it, printed as it comes."""
    print(f"\nFleet (NumPy work {1000 * numpy_seconds():.1f} ms)")
    found = [
        *unit_figures(runs),
        *record_figures(runs),
        *asyncio.run(_on_nats()),
        asyncio.run(hop_figures(APPS[TWO])),
    ]
    for row in found:
        print({key: value for key, value in row.items() if key != "below" or value})
    return found
