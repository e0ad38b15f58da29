"""One app on many processes, real input: groups, channels, kills, joins, a drain and other numbers
of partitions; the answer is that of one node.

`make e2e SCENARIO=fleet` replays the flights through five groups of up to four partitions, each on
two of up to six processors. Meanwhile six processors are killed, two join, one is drained, and
the app goes from four partitions to six and to three. Then every row, its order per key, and the
sink's table are compared with plain SQL, and with what one unit makes of the same input log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.bus import LogName
from lockstep.cli.client import Client
from lockstep.cli.demo.answers import expected_answers, mismatches
from lockstep.cli.demo.feed import TimedEvent, feed
from lockstep.cli.demo.flights import Flights, load_flights, merged
from lockstep.cli.demo.runner import TABLE_COLUMNS
from lockstep.cli.processes import ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.control import MergedOutputs, group_and_layout, view_of
from lockstep.events import OutputRecord, OutputRow
from lockstep.events.codec import EncodedEntry
from lockstep.execute.local import open_local
from lockstep.frame import World, wait_set
from lockstep.plan import Plans, plan_of
from lockstep.store.postgres import read_rows
from tests.e2e.harness import Way, tried

CLOCK = SystemClock()
APP = "FlightsFleet"
TEXT = Path(__file__).with_name("fleet.siddhi").read_text()
STREAMS = ("HourlyDelay", "DelayWeather", "CarrierAlert", "Strike")
PLAN = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("processor-3", "processor"),
    ("processor-4", "processor"),
    ("publisher", "publisher"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
)
JOINING = ("processor-5", "processor-6")
CUTS = (4, 6, 3)
KILLS = 6
POLL_MS = 100
PHASE_TIMEOUT_MS = 300_000
BATCH_EVENTS = 500
PARTS = 4
PART_PAUSE_MS = 1_000
OVERRIDES = {
    # A processor that joins gets its share soon.
    "LOCKSTEP_COORDINATOR__REBALANCE_AFTER_MS": "3000",
    "LOCKSTEP_COORDINATOR__REBALANCE_REST_MS": "5000",
}
STRIKES = """
select ts, carrier, level, 5 as made_of
from (select ts, seq, carrier, row_number() over (partition by carrier order by seq) as n
      from late_departure),
     (select 1 as level, 5 as every union all select 2, 25 union all select 3, 125)
where n % every = 0
order by seq, level desc
"""
"""Five late departures of a carrier make a strike; five strikes make one of the next level, which
comes out in front of the one that made it: what a chunk brings about comes before it."""


@dataclass(slots=True)
class Story:
    """What happened."""

    events: int = 0
    kills: int = 0
    failover_ms: list[int] = field(default_factory=list)
    placed: set[tuple[str, str]] = field(default_factory=set)
    moved: int = 0
    parallel: int = 0

    def saw(self, status: dict[str, Any]) -> None:
        """Where the units are: what is new there has moved."""
        now = {
            (f"{one['unit']} {status['layout']}", node)
            for one in status["units"]
            for node in one["nodes"]
        }
        known = {unit for unit, _ in self.placed}
        self.moved += sum(place not in self.placed and place[0] in known for place in now)
        self.placed |= now


@dataclass(frozen=True, slots=True)
class Fleet:
    """The suite, the way to talk to it, and what has happened."""

    suite: ProcessSuite
    client: Client
    world: World
    story: Story

    async def status(self) -> dict[str, Any]:
        """As the coordinator tells; asked again while it cannot."""
        found: dict[str, Any] = await send_retrying(lambda: self.client.status(APP))
        self.story.saw(found)
        return found

    async def whole(self, parallel: int) -> dict[str, Any]:
        """Once every unit of this cut is led and its replicas are ready."""
        units = 4 * parallel + 1

        def is_whole(status: dict[str, Any]) -> bool:
            own = [one for one in status["replicas"] if one["layout"] == status["layout"]]
            ready = [one for one in own if one["ready"]]
            led = {one["unit"] for one in ready if one["role"] == "active"}
            active = sum(one["role"] == "active" for one in own)
            return len(status["units"]) == len(led) == active == units and len(ready) >= 2 * units

        return await self.until(is_whole)

    async def until(self, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first status that is like that; TimeoutError."""
        deadline_ms = CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
        status: dict[str, Any] = {}
        while CLOCK.monotonic_ms() < deadline_ms:
            status = await self.status()
            if reached(status):
                return status
            await CLOCK.sleep_ms(POLL_MS)
        raise TimeoutError(f"the fleet did not get there: {status}")

    async def kill(self, number: int, done: asyncio.Event) -> None:
        """The processor that leads a partition of the filter; it is started again behind it. `done`
        is told at once: what comes behind the kill shows that the partition goes on."""
        status = await self.whole(self.story.parallel)
        leaders = _leaders(status)
        unit = sorted(leaders)[number % len(leaders)]
        victim = self.suite.processes[leaders[unit]]
        log = await self.world.bus.output_log(await self._log_of(status, unit))
        before = await log.tail()
        killed_at_ms = CLOCK.monotonic_ms()
        await victim.kill()
        done.set()
        self.story.kills += 1
        after, deadline_ms = before.sequence, CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
        while CLOCK.monotonic_ms() < deadline_ms:
            entries = await log.read(after, max_records=100, max_bytes=10**7, wait_ms=10)
            rows = [one for one in entries if isinstance(one.record, OutputRecord)]
            if any(one.record.epoch > before.epoch for one in rows):
                break
            after = entries[-1].sequence if entries else after
        else:
            raise TimeoutError(f"nobody published after {victim.node} was killed")
        took_ms = CLOCK.monotonic_ms() - killed_at_ms
        self.story.failover_ms.append(took_ms)
        print(f"fleet: killed {victim.node}, its partition went on after {took_ms} ms", flush=True)
        victim.start()

    async def _log_of(self, status: dict[str, Any], partition: int) -> LogName:
        names = await self.world.bus.logs(APP)
        wanted = ("late", status["layout"])
        found = [one for one in names if group_and_layout(one.group) == wanted]
        return next(one for one in found if one.partition == partition)

    async def join(self, node: str) -> None:
        """A new processor, which gets something to carry."""
        self.suite.processes[node].start()
        await self.carries(node)
        print(f"fleet: {node} joined", flush=True)

    async def carries(self, node: str) -> None:
        """Once it does: one that was killed takes its time to start on cores that are full."""
        await self.until(lambda one: any(node in unit["nodes"] for unit in one["units"]))

    async def drain(self, node: str) -> None:
        """A processor gives away all it carries."""
        await self.carries(node)
        url = f"{self.client.addresses.coordinator}/v1/nodes/{node}/drain"
        await send_retrying(lambda: self.client.request("PUT", url))
        await self.until(lambda one: all(node not in unit["nodes"] for unit in one["units"]))
        print(f"fleet: {node} is drained", flush=True)

    async def cut(self, parallel: int) -> None:
        """Another number of partitions, while events come."""
        await send_retrying(lambda: self.client.deploy(TEXT, parallel=parallel))
        self.story.parallel = parallel
        await self.whole(parallel)
        print(f"fleet: {parallel} partitions", flush=True)


def _leaders(status: dict[str, Any]) -> dict[int, str]:
    """Who leads the partitions of the filter. What is heard of a process outlives it; of two that
    say so the later epoch leads."""
    said = [one for one in status["replicas"] if one["group"] == "late" and one["role"] == "active"]
    return {one["partition"]: one["node"] for one in sorted(said, key=lambda one: one["epoch"])}


async def _fly(fleet: Fleet, flights: Flights) -> int:
    """The last position of the input log."""
    steps: Sequence[Callable[[asyncio.Event], Awaitable[None]]] = (
        lambda done: fleet.kill(0, done),
        lambda _: fleet.join(JOINING[0]),
        lambda done: fleet.kill(1, done),
        lambda _: fleet.cut(CUTS[1]),
        lambda done: fleet.kill(2, done),
        lambda _: fleet.join(JOINING[1]),
        lambda done: fleet.kill(3, done),
        lambda _: fleet.drain("processor-1"),
        lambda done: fleet.kill(4, done),
        lambda _: fleet.cut(CUTS[2]),
        lambda done: fleet.kill(5, done),
    )
    events = merged(flights)
    total = flights.departures.num_rows + flights.weather.num_rows
    last_position = 0
    for number, step in enumerate(steps):
        share = list(itertools.islice(events, total // len(steps) + 1))
        done = asyncio.Event()
        feeding = asyncio.create_task(_feed(fleet.client, share, number, done))
        try:
            await step(done)
            done.set()
            last_position = await feeding
        finally:
            feeding.cancel()
        fleet.story.events += len(share)
    return last_position


async def _feed(client: Client, events: list[TimedEvent], leg: int, done: asyncio.Event) -> int:
    """Of the last event. Events come while the step is under way, and a part of them behind it, so
    that what comes after it is seen."""
    last, size = 0, max(1, len(events) // PARTS + 1)
    parts = [events[i : i + size] for i in range(0, len(events), size)]
    for number, part in enumerate(parts):
        limit_ms = PHASE_TIMEOUT_MS if number == len(parts) - 1 else PART_PAUSE_MS
        await wait_set(done, CLOCK, limit_ms)
        fed = await feed(
            client, APP, part, key=f"fleet-{leg}-{number}", advance=lambda _: None,
            batch_events=BATCH_EVENTS,
        )  # fmt: skip
        last = fed.last_position
    return last


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with the rows."""

    rows: int
    lost: int
    duplicated: int
    order_violations: int
    wrong: list[str]


def judged(expected: dict[str, list[tuple[Any, ...]]], rows: list[OutputRow]) -> Verdict:
    """Every row once, and those of a key in their order."""
    twice = sum(b.id <= a.id for a, b in itertools.pairwise(rows))
    lost = surplus = disordered = 0
    wrong: list[str] = []
    for stream in STREAMS:
        found = [(row.timestamp_ms, *row.data) for row in rows if row.stream == stream]
        own, other = _by_key(expected[stream]), _by_key(found)
        for key in sorted(own.keys() | other.keys()):
            wanted, there = own.get(key, []), other.get(key, [])
            lost += max(0, len(wanted) - len(there))
            surplus += max(0, len(there) - len(wanted))
            if differences := mismatches(wanted, there):
                is_order = not mismatches(sorted(wanted, key=repr), sorted(there, key=repr))
                disordered += is_order
                wrong += [f"{stream} {key}: {line}" for line in differences[:3]]
    total = sum(len(expected[name]) for name in STREAMS)
    return Verdict(total, lost, twice + surplus, disordered, wrong)


def _by_key(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """Of streams whose second value is their key."""
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[1]].append(row)
    return found


@dataclass(slots=True)
class Reader:
    """Everything that the fleet takes in, before it is trimmed, and gives out, as publishers and
    presenters read it: one log."""

    world: World
    rows: list[OutputRow] = field(default_factory=list)
    position: int = 0
    entries: list[EncodedEntry] = field(default_factory=list)

    async def take_in(self) -> None:
        """Until cancelled."""
        names: Sequence[LogName] = ()
        while not (names := await self.world.bus.logs(APP)):
            await CLOCK.sleep_ms(POLL_MS)
        own = next(one for one in names if not group_and_layout(one.group)[1])
        log = await self.world.bus.input_log(own)
        while True:
            after = self.entries[-1].position if self.entries else 0
            self.entries += await log.read_encoded(
                after, max_records=200, max_bytes=10**7, wait_ms=1_000
            )

    async def run(self) -> None:
        """Until cancelled; goes over to each layout that is deployed."""
        plans, deployment = Plans(), None
        while deployment is None:
            deployment = await self.world.store.deployments.get(APP)
            await CLOCK.sleep_ms(POLL_MS)
        while True:
            view = await asyncio.to_thread(view_of, deployment, plans)
            merged_outputs = MergedOutputs(self.world.bus, view, CLOCK)
            task = asyncio.create_task(merged_outputs.run())
            try:
                # It ends where a layout is deployed, and its logs are just being made.
                while not task.done() and deployment == (
                    await self.world.store.deployments.get(APP)
                ):
                    await self._read(merged_outputs)
            finally:
                task.cancel()
                await asyncio.wait({task})
            found = await self.world.store.deployments.get(APP)
            deployment = deployment if found is None else found

    async def _read(self, merged_outputs: MergedOutputs) -> None:
        for entry in await merged_outputs.read(
            self.position, max_records=1_000, max_bytes=10**7, wait_ms=POLL_MS
        ):
            assert isinstance(entry.record, OutputRecord)
            self.rows += entry.record.rows
            self.position = entry.sequence


def _single(entries: Sequence[EncodedEntry]) -> dict[str, list[tuple[Any, ...]]]:
    """What one unit in this process makes of the same input log."""
    executor = open_local(plan_of(TEXT))
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for at in range(0, len(entries), 200):
        for row in executor.run_encoded(entries[at : at + 200]).rows:
            rows[row.stream].append((row.timestamp_ms, *row.data))
    executor.close()
    return rows


async def _judge(fleet: Fleet, reader: Reader, flights: Flights, last_position: int) -> bool:
    async with asyncio.timeout(PHASE_TIMEOUT_MS / 1_000):
        while reader.position < last_position or reader.entries[-1].position < last_position:
            await CLOCK.sleep_ms(POLL_MS)
    expected = expected_answers(flights, {"Strike": STRIKES})
    verdict = judged(expected, reader.rows)
    single = await asyncio.to_thread(_single, reader.entries)
    unlike = [
        f"{stream} {key} differs from one unit's"
        for stream in STREAMS
        for key, rows in _by_key(expected[stream]).items()
        if mismatches(_by_key(single[stream]).get(key, []), rows)
    ]
    dsn = fleet.suite.settings.store.postgres_dsn.get_secret_value()
    table = await _delivered(dsn, expected["OriginToday"])
    wrong = [*verdict.wrong, *unlike, *mismatches(expected["OriginToday"], table)]
    for line in wrong[:20]:
        print(f"fleet: {line}")
    story = fleet.story
    ok = not wrong and not (verdict.lost or verdict.duplicated or verdict.order_violations)
    ok = ok and story.kills == KILLS
    print(
        f"fleet: {'ok' if ok else 'FAILED'} events={story.events} outputs={verdict.rows}"
        f" lost={verdict.lost} duplicated={verdict.duplicated}"
        f" order_violations={verdict.order_violations}"
        f" equal_to_single={'no' if unlike else 'yes'} moved={story.moved}"
        f" failover_ms_max={max(story.failover_ms)}"
    )
    return ok


async def _delivered(dsn: str, expected: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The sink's table once it equals the answer, or as it stands after a while."""
    deadline_ms = CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
    while True:
        rows = await read_rows(dsn, "origin_today", TABLE_COLUMNS)
        if not mismatches(expected, rows) or CLOCK.monotonic_ms() > deadline_ms:
            return rows
        await CLOCK.sleep_ms(POLL_MS)


async def main(limit: int | None, way: Way) -> int:
    """Runs it; gives the exit code."""
    flights = load_flights(limit=limit)

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            fleet, reader = Fleet(suite, client, world, Story()), Reader(world)
            reading = asyncio.gather(reader.run(), reader.take_in())
            try:
                await fleet.cut(CUTS[0])
                last_position = await _fly(fleet, flights)
                return await _judge(fleet, reader, flights, last_position)
            finally:
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await reading

    return await tried("fleet", trial, way, plan=PLAN, later=JOINING, overrides=OVERRIDES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=60_000, help="only the first departures")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.limit, Way.of(options))))
