"""The suite end to end, at set rates. Run by `python -m tests.bench.run --part suite`.

`events/s` is how fast events were taken, as long as their rows trail by no more than the bar.
`through` counts until the last row stands in the output log: where more is sent than the machine
can, the receiver takes what the processors fold later.

Separate processes as in production: receiver, two processors, publisher, presenter, coordinator,
over NATS with files or Kafka, Redis and PostgreSQL, all on this machine, and the load beside them.
Latency runs from the moment when an event was due to be sent to its row's arrival out of the output
log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from lockstep.cli.client import Client
from lockstep.cli.processes import PLAN, ProcessSuite, running_processes
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import World, open_world
from tests.bench import memory
from tests.bench.arrivals import Arrivals, judged
from tests.bench.load import APP, HOUR, TEXT, TRANSPORTS, Load, Sent
from tests.bench.workload import numpy_seconds
from tests.kafka.suite import bus_settings
from tests.tls.certificates import Authority
from tests.tls.servers import secured

READY_LIMIT_S: Final = 60.0
DRAIN_LIMIT_S: Final = 60.0
POLL_S: Final = 0.05
WARM_UP_S: Final = 5.0

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A rate over a transport, with its bar for the 99th percentile."""

    name: str
    transport: str
    events_per_s: int
    batch_events: int
    bar_p99_ms: float
    text: str = TEXT


CASES: Final = (
    Case("5,000/s NDJSON", "ndjson", 5_000, 100, 400),
    Case("5,000/s by the bus", "bus", 5_000, 100, 400),
    Case("100,000/s NDJSON", "ndjson", 100_000, 5_000, 2_000),
    Case("100,000/s Arrow", "arrow", 100_000, 5_000, 2_000),
    Case("100,000/s by the bus", "bus", 100_000, 5_000, 2_000),
)


FLAT_OUT: Final = (
    Case("flat out, Arrow", "arrow", 1_000_000, 5_000, 60_000),
    Case("flat out, NDJSON", "ndjson", 1_000_000, 5_000, 60_000),
)
"""More than these machines can: how much comes through. Measured where `only` names it."""
SECURED: Final = "nats+tls"
"""NATS, with TLS and certificates at every door and in front of every server."""

VOLUME_EVENTS_PER_S: Final = 100_000
MAX_MIB: Final = 4_096
VOLUMES: Final = (
    Case("aggregates of a second", "arrow", VOLUME_EVENTS_PER_S, 10_000, 2_000),
    Case("all of it in a window", "arrow", VOLUME_EVENTS_PER_S, 10_000, 2_000, TEXT + HOUR),
)
"""Sent for as long as it takes to bring a number of events, to see where memory goes."""


ONE: Final = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("publisher", "publisher"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
)
"""A process of each service, without a standby."""


@contextlib.asynccontextmanager
async def fresh_suite(
    keep: bool,
    plan: Sequence[tuple[str, str]] = PLAN,
    overrides: Mapping[str, str] | None = None,
    bus: str = "nats",
) -> AsyncIterator[tuple[ProcessSuite, World, Client]]:
    """Everything started anew with empty logs."""
    directory = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
    try:
        async with contextlib.AsyncExitStack() as stack:
            servers = (
                secured(directory / "servers", Authority(directory / "certificates"))
                if bus == SECURED
                else bus_settings(bus, directory)
            )
            carrier = await stack.enter_async_context(servers)
            wanted = {**carrier, **(overrides or {})}
            suite = await stack.enter_async_context(
                running_processes(directory, plan=plan, overrides=wanted)
            )
            world = await open_world(suite.settings, SystemClock(), SystemRandomness())
            stack.push_async_callback(world.close)
            yield suite, world, await stack.enter_async_context(Client(suite.addresses))
    finally:
        if keep:
            print(f"logs in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


@dataclass(slots=True)
class Run:
    """What was seen while a case ran."""

    ready_ms: float = 0.0
    first_ms: float = 0.0
    from_batch: int = 0
    sent_s: float = 0.0
    drained_s: float = 0.0
    caught_up_s: float = 0.0
    resident_mib: list[int] = field(default_factory=list)


async def measured(case: Case, seconds: float, *, keep: bool = False, bus: str = "nats") -> Row:
    """One case on a suite of its own."""
    async with fresh_suite(keep, bus=bus) as (suite, world, client):
        run, work = Run(), numpy_seconds()
        transport = TRANSPORTS[case.transport]
        began_s = time.monotonic()
        await client.deploy(case.text)
        await _ready(client)
        run.ready_ms = 1000 * (time.monotonic() - began_s)
        arrivals = Arrivals(await world.bus.output_log(max(await world.bus.logs(APP))))
        load = Load(transport, transport.sender(client, world.bus), case.batch_events)
        beside = [
            asyncio.create_task(arrivals.run()),
            asyncio.create_task(_watch_memory(suite, run.resident_mib, seconds)),
        ]
        try:
            run.first_ms = await _first(load, arrivals, case)
            await load.run(case.events_per_s, WARM_UP_S)
            memory.forget_peaks_of(_pids(suite))
            run.from_batch, began_s = len(load.sent.due_s), time.monotonic()
            await load.run(case.events_per_s, seconds)
            run.sent_s = time.monotonic() - began_s
            run.drained_s = await _drained(arrivals, load.sent)
            run.caught_up_s = await _delivered(client)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        machine: Row = {
            "load_average": round(os.getloadavg()[0], 1),
            "numpy_ms": round(1000 * work, 1),
            "cpu_s": {name: round(used, 1) for name, used in _cpu(suite).items()},
            "peak_mib": {p.node: memory.peak_mib(p.pid) for p in suite.processes.values()},
            "processor_mib": run.resident_mib,
        }
        figures = _figures(case, seconds, run, load.sent, arrivals)
        per_work = round(figures["events_per_second"] * work)
        peaks = [sum(peak.values()) for peak in machine["peak_mib"].values()]
        below = figures["below"] or max(peaks) > MAX_MIB
        return {**figures, "below": below, "events_per_numpy_work": per_work, **machine}


def _figures(case: Case, seconds: float, run: Run, sent: Sent, arrivals: Arrivals) -> Row:
    found = judged(arrivals, sent, from_batch=run.from_batch)
    events = (len(sent.due_s) - run.from_batch) * case.batch_events
    # Rows may trail by as much as the bar allows: that is no lack of throughput.
    trailing_s = min(run.drained_s, case.bar_p99_ms / 1000)
    rate = events / (run.sent_s + run.drained_s - trailing_s)
    answered = sorted(sent.answered_ms[run.from_batch :])
    return {
        "name": case.name,
        "events_per_second": round(rate),
        "through_per_second": round(events / (run.sent_s + run.drained_s)),
        "seconds": seconds,
        "p50_ms": found.p50_ms,
        "p99_ms": found.p99_ms,
        "max_ms": found.max_ms,
        "bar_p99_ms": case.bar_p99_ms,
        "below": found.p99_ms > case.bar_p99_ms
        or found.lost > 0
        or found.duplicated > 0
        or rate < 0.99 * case.events_per_s,
        "rows": found.rows,
        "lost": found.lost,
        "duplicated": found.duplicated,
        "accepted_p50_ms": round(answered[len(answered) // 2], 1),
        "accepted_p99_ms": round(answered[int(len(answered) * 0.99)], 1),
        "pushed_back": sent.pushed_back,
        "unavailable": sent.unavailable,
        "sender_late_ms": round(1000 * sent.late_s),
        "drain_s": round(run.drained_s, 1),
        "sinks_caught_up_s": round(run.caught_up_s, 1),
        "deploy_to_ready_ms": round(run.ready_ms),
        "first_event_ms": round(run.first_ms),
    }


async def _watch_memory(suite: ProcessSuite, found: list[int], seconds: float) -> None:
    """Ten looks at a processor's memory, evenly spread over a run."""
    pid = suite.processes["processor-1"].pid
    while pid is not None:
        await asyncio.sleep(seconds / 10)
        found.append(memory.resident_mib(pid))


def _pids(suite: ProcessSuite) -> list[int]:
    return [process.pid for process in suite.processes.values() if process.pid is not None]


def _cpu(suite: ProcessSuite) -> dict[str, float]:
    used = {p.node: memory.cpu_seconds(p.pid) for p in suite.processes.values() if p.pid}
    return {**used, "bench and servers": memory.cpu_seconds(os.getpid()) - sum(used.values())}


async def _ready(client: Client) -> None:
    url = f"{client.addresses.coordinator}/v1/apps/{APP}/status"
    async with asyncio.timeout(READY_LIMIT_S):
        while True:
            replicas = (await client.request("GET", url))["replicas"]
            roles = [each["role"] for each in replicas if each["ready"]]
            if len(roles) == 2 and "active" in roles:
                return
            await asyncio.sleep(POLL_S)


async def _first(load: Load, arrivals: Arrivals, case: Case) -> float:
    """Milliseconds from sending the very first batch after the deployment to its rows."""
    began_s = time.monotonic()
    await load.run(case.batch_events, 1.0)
    async with asyncio.timeout(DRAIN_LIMIT_S):
        while not arrivals.rows:
            await asyncio.sleep(0.001)
    return 1000 * (arrivals.times_s[0] - max(began_s, load.sent.due_s[0]))


async def _drained(arrivals: Arrivals, sent: Sent) -> float:
    """Seconds until no more rows come, or all are there."""
    began_s = time.monotonic()
    wanted = judged(arrivals, sent, from_batch=0)
    missing = wanted.lost
    while missing and time.monotonic() - began_s < DRAIN_LIMIT_S:
        before = arrivals.rows
        await asyncio.sleep(POLL_S)
        missing -= arrivals.rows - before
    return time.monotonic() - began_s


async def _delivered(client: Client) -> float:
    """Seconds until every sink has what the output log has."""
    url = f"{client.addresses.coordinator}/v1/apps/{APP}/status"
    began_s = time.monotonic()
    while time.monotonic() - began_s < DRAIN_LIMIT_S:
        sinks = (await client.request("GET", url))["sinks"]
        if sinks and all(each["sequence"] >= each["log_end"] for each in sinks):
            break
        await asyncio.sleep(POLL_S)
    return time.monotonic() - began_s


def show(rows: Sequence[Row]) -> None:
    """A table."""
    print("\nSuite: receiver, two processors, publisher, presenter")
    print(
        f"{'':26} {'events/s':>9} {'through':>9} {'p50 ms':>8} {'p99 ms':>8} {'bar':>6}"
        f" {'':5} {'lost':>5} {'twice':>5} {'first ms':>8} {'accepted p99':>12} {'429':>4}"
        f"  {'load':>5}  processor's JVM + Python MiB"
    )
    for row in rows:
        mark = "below" if row["below"] else ""
        peak = row["peak_mib"]["processor-1"]
        print(
            f"{row['name']:26} {row['events_per_second']:>9,} {row['through_per_second']:>9,}"
            f" {row['p50_ms']:>8,}"
            f" {row['p99_ms']:>8,} {row['bar_p99_ms']:>6,} {mark:5} {row['lost']:>5}"
            f" {row['duplicated']:>5} {row['first_event_ms']:>8,} {row['accepted_p99_ms']:>12,}"
            f" {row['pushed_back']:>4}  {row['load_average']:>5}  {peak['jvm']} + {peak['python']}"
        )


def suite_figures(
    only: str, seconds: float, *, keep: bool = False, buses: Sequence[str] = ("nats",)
) -> list[Row]:
    """All cases whose names hold `only`, for so long each, on each bus in turn."""
    found = []
    for case in (*CASES, *(FLAT_OUT if only else ())):
        for bus in buses if only in case.name else ():
            named = replace(case, name=f"{case.name} {bus}")
            found.append(asyncio.run(measured(named, seconds, keep=keep, bus=bus)))
            show(found[-1:])
    return found


def volume_figures(
    only: str, events: int, events_per_s: int = VOLUME_EVENTS_PER_S, *, keep: bool = False
) -> list[Row]:
    """So many events through each app of VOLUMES, with the memory of a processor on the way."""
    found = []
    for each in VOLUMES:
        if only in each.name:
            case = replace(each, events_per_s=events_per_s)
            row = asyncio.run(measured(case, events / events_per_s, keep=keep))
            found.append({**row, "events": events})
            show(found[-1:])
            print(f"{'':22} processor-1, MiB in tenths of the run: {row['processor_mib']}")
            for node in ("processor-1", "processor-2"):
                peak = row["peak_mib"][node]
                together = sum(peak.values())
                print(
                    f"{'':22} {node}, peaks: JVM {peak['jvm']} + Python {peak['python']} MiB"
                    f" = {together} of {MAX_MIB}"
                )
    return found
