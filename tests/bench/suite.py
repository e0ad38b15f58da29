"""Measures the suite end to end: `python -m tests.bench.suite [--only TEXT] [--seconds N]`.

Separate processes as in production: receiver, two processors, publisher, presenter, coordinator,
over NATS with files, Redis and PostgreSQL, all on this machine, and the load beside them. Latency
runs from the moment when an event was due to be sent to its row's arrival out of the output log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lockstep.bus import LogName
from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, running_processes
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import World, open_world
from tests.bench import memory
from tests.bench.arrivals import Arrivals, judged
from tests.bench.load import APP, TEXT, TRANSPORTS, Load, Sent
from tests.bench.workload import numpy_seconds

RESULTS: Final = Path(__file__).with_name("results.json")
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


CASES: Final = (
    Case("5,000/s NDJSON", "ndjson", 5_000, 100, 400),
    Case("5,000/s NATS", "nats", 5_000, 100, 400),
    Case("100,000/s NDJSON", "ndjson", 100_000, 5_000, 2_000),
    Case("100,000/s Arrow", "arrow", 100_000, 5_000, 2_000),
    Case("100,000/s NATS", "nats", 100_000, 5_000, 2_000),
)


@contextlib.asynccontextmanager
async def fresh_suite(keep: bool) -> AsyncIterator[tuple[ProcessSuite, World, Client]]:
    """Everything started anew with empty logs."""
    directory = Path(tempfile.mkdtemp(prefix="lockstep-bench-"))
    try:
        async with running_processes(directory) as suite:
            world = await open_world(suite.settings, SystemClock(), SystemRandomness())
            try:
                async with Client(suite.addresses) as client:
                    yield suite, world, client
            finally:
                await world.close()
    finally:
        if keep:
            print(f"logs in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


async def measured(case: Case, seconds: float, *, keep: bool = False) -> Row:
    """One case on a suite of its own."""
    async with fresh_suite(keep) as (suite, world, client):
        work = numpy_seconds()
        transport = TRANSPORTS[case.transport]
        deployed_s = time.monotonic()
        await client.deploy(TEXT)
        await _ready(client)
        ready_s = time.monotonic() - deployed_s
        arrivals = Arrivals(await world.bus.output_log(LogName(APP)))
        reading = asyncio.create_task(arrivals.run())
        load = Load(transport, transport.sender(client, world.bus), case.batch_events)
        try:
            first_ms = await _first(load, arrivals, case)
            await load.run(case.events_per_s, WARM_UP_S)
            memory.forget_peaks_of(_pids(suite))
            from_batch, began_s = len(load.sent.due_s), time.monotonic()
            await load.run(case.events_per_s, seconds)
            sent_s = time.monotonic() - began_s
            drained_s = await _drained(arrivals, load.sent)
            caught_up_s = await _delivered(client)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        found = judged(arrivals, load.sent, from_batch=from_batch)
        rate = (len(load.sent.due_s) - from_batch) * case.batch_events / (sent_s + drained_s)
        sent = load.sent
        answered = sorted(sent.answered_ms[from_batch:])
        below = (
            found.p99_ms > case.bar_p99_ms
            or found.lost > 0
            or found.duplicated > 0
            or rate < 0.98 * case.events_per_s * seconds / (seconds + case.bar_p99_ms / 1000)
        )
        return {
            "name": case.name,
            "events_per_second": round(rate),
            "p50_ms": found.p50_ms,
            "p99_ms": found.p99_ms,
            "max_ms": found.max_ms,
            "bar_p99_ms": case.bar_p99_ms,
            "below": below,
            "rows": found.rows,
            "lost": found.lost,
            "duplicated": found.duplicated,
            "accepted_p50_ms": round(answered[len(answered) // 2], 1),
            "accepted_p99_ms": round(answered[int(len(answered) * 0.99)], 1),
            "pushed_back": sent.pushed_back,
            "unavailable": sent.unavailable,
            "sender_late_ms": round(1000 * sent.late_s),
            "drain_s": round(drained_s, 1),
            "sinks_caught_up_s": round(caught_up_s, 1),
            "deploy_to_ready_ms": round(1000 * ready_s),
            "first_event_ms": round(first_ms),
            "load_average": round(os.getloadavg()[0], 1),
            "numpy_ms": round(1000 * work, 1),
            "events_per_numpy_work": round(rate * work),
            "cpu_s": {name: round(used, 1) for name, used in _cpu(suite).items()},
            "peak_mib": {p.node: memory.peak_mib(p.pid) for p in suite.processes.values()},
        }


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
    print("\nSuite: receiver, two processors, publisher, presenter, NATS with files")
    print(
        f"{'':22} {'events/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'bar':>6}       {'lost':>5} {'twice':>5}"
        f" {'first ms':>8} {'accepted p99':>12} {'429':>5}  JVM + Python MiB (processor-1)"
    )
    for row in rows:
        mark = "below" if row["below"] else ""
        peak = row["peak_mib"]["processor-1"]
        print(
            f"{row['name']:22} {row['events_per_second']:>9,} {row['p50_ms']:>8,} {row['p99_ms']:>8,}"
            f" {row['bar_p99_ms']:>6,} {mark:5} {row['lost']:>5} {row['duplicated']:>5}"
            f" {row['first_event_ms']:>8,} {row['accepted_p99_ms']:>12,} {row['pushed_back']:>5}"
            f"  {peak['jvm']} + {peak['python']}"
        )


async def suite_figures(only: str, seconds: float, *, keep: bool = False) -> list[Row]:
    """All cases whose names hold `only`."""
    found = []
    for case in CASES:
        if only in case.name:
            found.append(await measured(case, seconds, keep=keep))
            show(found[-1:])
    return found


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--seconds", type=float, default=60.0, help="of sustained load per case")
    parser.add_argument("--keep", action="store_true", help="keep the processes' logs")
    options = parser.parse_args()
    for row in asyncio.run(suite_figures(options.only, options.seconds, keep=options.keep)):
        print(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
