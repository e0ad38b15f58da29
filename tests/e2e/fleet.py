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
from lockstep.control import group_and_layout
from lockstep.events import OutputRecord, OutputRow
from lockstep.execute.local import open_local
from lockstep.frame import World, wait_set
from lockstep.plan import plan_of
from lockstep.store.postgres import read_rows
from tests.e2e.harness import tried

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
PARTS = 12
PART_PAUSE_MS = 500
OVERRIDES = {
    # The whole input log is folded again at the end, by one unit.
    "LOCKSTEP_PROCESSOR__REVISIONS_TO_KEEP": "1000",
}
STRIKES = """
select ts, carrier, level, 5 as made_of
from (select ts, seq, carrier, row_number() over (partition by carrier order by seq) as n
      from late_departure),
     (select 1 as level, 5 as every union all select 2, 25 union all select 3, 125)
where n % every = 0
order by seq, level
"""
"""Five late departures of a carrier make a strike; five strikes make one of the next level."""


@dataclass(slots=True)
class Story:
    """What happened."""

    events: int = 0
    kills: int = 0
    failover_ms: list[int] = field(default_factory=list)
    placed: set[tuple[str, str]] = field(default_factory=set)
    moved: int = 0

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
            ready = [one for one in status["replicas"] if one["ready"]]
            led = {one["unit"] for one in ready if one["role"] == "active"}
            return len(status["units"]) == len(led) == units and len(ready) >= 2 * units

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

    async def kill(self, number: int) -> None:
        """The processor that leads a partition of the filter; it is started again behind it."""
        status = await self.until(lambda one: bool(_leaders(one)))
        leaders = _leaders(status)
        unit = sorted(leaders)[number % len(leaders)]
        victim = self.suite.processes[leaders[unit]]
        log = await self.world.bus.output_log(await self._log_of(status, unit))
        before = await log.tail()
        killed_at_ms = CLOCK.monotonic_ms()
        await victim.kill()
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
        await self.until(lambda one: any(node in unit["nodes"] for unit in one["units"]))
        print(f"fleet: {node} joined", flush=True)

    async def drain(self, node: str) -> None:
        """A processor gives away all it carries."""
        url = f"{self.client.addresses.coordinator}/v1/nodes/{node}/drain"
        await send_retrying(lambda: self.client.request("POST", url))
        await self.until(lambda one: all(node not in unit["nodes"] for unit in one["units"]))
        print(f"fleet: {node} is drained", flush=True)

    async def cut(self, parallel: int) -> None:
        """Another number of partitions, while events come."""
        await send_retrying(lambda: self.client.deploy(TEXT, parallel=parallel))
        await self.whole(parallel)
        print(f"fleet: {parallel} partitions", flush=True)


def _leaders(status: dict[str, Any]) -> dict[int, str]:
    """Who leads the partitions of the filter."""
    return {
        one["partition"]: one["node"]
        for one in status["replicas"]
        if one["group"] == "late" and one["role"] == "active"
    }


async def _fly(fleet: Fleet, flights: Flights) -> int:
    """The last position of the input log."""
    steps: Sequence[Callable[[], Awaitable[None]]] = (
        lambda: fleet.kill(0),
        lambda: fleet.join(JOINING[0]),
        lambda: fleet.kill(1),
        lambda: fleet.cut(CUTS[1]),
        lambda: fleet.kill(2),
        lambda: fleet.join(JOINING[1]),
        lambda: fleet.kill(3),
        lambda: fleet.drain("processor-1"),
        lambda: fleet.kill(4),
        lambda: fleet.cut(CUTS[2]),
        lambda: fleet.kill(5),
    )
    events = merged(flights)
    total = flights.departures.num_rows + flights.weather.num_rows
    last_position = 0
    for number, step in enumerate(steps):
        share = list(itertools.islice(events, total // len(steps) + 1))
        done = asyncio.Event()
        feeding = asyncio.create_task(_feed(fleet.client, share, number, done))
        try:
            await step()
        finally:
            done.set()
        last_position = await feeding
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


def judged(
    expected: dict[str, list[tuple[Any, ...]]], logs: dict[LogName, list[OutputRow]]
) -> Verdict:
    """Every row once, and those of a key in their order."""
    ids = [[row.id for row in rows] for rows in logs.values()]
    twice = sum(len(own) - len(set(own)) + sum(b <= a for a, b in itertools.pairwise(own))
                for own in ids)  # fmt: skip
    placed = sorted(
        (row.id.position, name, row.id.ordinal, row.stream, (row.timestamp_ms, *row.data))
        for name, rows in logs.items()
        for row in rows
        if row.stream in STREAMS
    )
    lost = surplus = disordered = 0
    wrong: list[str] = []
    for stream in STREAMS:
        found = [row for _, _, _, name, row in placed if name == stream]
        own, other = _by_key(expected[stream]), _by_key(found)
        for key in sorted(own.keys() | other.keys()):
            wanted, there = own.get(key, []), other.get(key, [])
            lost += max(0, len(wanted) - len(there))
            surplus += max(0, len(there) - len(wanted))
            if differences := mismatches(wanted, there):
                is_order = not mismatches(sorted(wanted, key=repr), sorted(there, key=repr))
                disordered += is_order
                wrong += [f"{stream} {key}: {line}" for line in differences[:3]]
    rows = sum(len(expected[name]) for name in STREAMS)
    return Verdict(rows, lost, twice + surplus, disordered, wrong)


def _by_key(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """Of streams whose second value is their key."""
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[1]].append(row)
    return found


async def _published(world: World) -> dict[LogName, list[OutputRow]]:
    """All rows of the logs of all units, of all cuts."""
    found: dict[LogName, list[OutputRow]] = {}
    for name in await world.bus.logs(APP):
        if not group_and_layout(name.group)[1]:
            continue
        log = await world.bus.output_log(name)
        end, after, rows = (await log.tail()).sequence, 0, []
        while after < end:
            entries = await log.read(after, max_records=500, max_bytes=10**7, wait_ms=5_000)
            if not entries:
                break
            after = entries[-1].sequence
            rows += [row for each in entries if isinstance(each.record, OutputRecord)
                     for row in each.record.rows]  # fmt: skip
        found[name] = rows
    return found


async def _single(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """What one unit in this process makes of the same input log."""
    name = next(one for one in await world.bus.logs(APP) if not group_and_layout(one.group)[1])
    log = await world.bus.input_log(name)
    _, end = await log.bounds()
    executor = open_local(plan_of(TEXT))
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    after = 0
    while after < end:
        entries = await log.read_encoded(after, max_records=200, max_bytes=10**7, wait_ms=5_000)
        after = entries[-1].position
        result = await asyncio.to_thread(executor.run_encoded, entries)
        for row in result.rows:
            rows[row.stream].append((row.timestamp_ms, *row.data))
    executor.close()
    return rows


async def _judge(fleet: Fleet, flights: Flights, last_position: int) -> bool:
    await fleet.until(
        lambda one: min(
            (max(r["settled"] for r in one["replicas"] if r["unit"] == unit["unit"])
             for unit in one["units"]
             if any(r["unit"] == unit["unit"] for r in one["replicas"])),
            default=0,
        ) >= last_position
    )  # fmt: skip
    expected = expected_answers(flights, {"Strike": STRIKES})
    logs = await _published(fleet.world)
    verdict = judged(expected, logs)
    single = await _single(fleet.world)
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


async def main(limit: int | None, executor: str, keep_logs: bool) -> int:
    """Runs it; gives the exit code."""
    flights = load_flights(limit=limit)

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            fleet = Fleet(suite, client, world, Story())
            await fleet.cut(CUTS[0])
            last_position = await _fly(fleet, flights)
            return await _judge(fleet, flights, last_position)

    return await tried(
        "fleet", trial, executor=executor, keep_logs=keep_logs, plan=PLAN, later=JOINING,
        overrides=OVERRIDES,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=60_000, help="only the first departures")
    parser.add_argument("--executor", default="spark", choices=("spark", "reference"))
    parser.add_argument("--keep-logs", action="store_true")
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.limit, options.executor, options.keep_logs)))
