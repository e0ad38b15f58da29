"""What traces cost: `python -m tests.bench.run --part tracing`.

Two suites of processes on this machine: one traces one send in a hundred, the other none. In turns,
the one and then the other gets so many events as fast as it takes them, in small sends, since each
send may be traced. A turn ends when the last row stands in the output log. What is compared are the
medians of both, and of each pair of turns the processor time that the suite's processes needed for
an event: other work on the machine changes that less. Spans go to a receiver of OTLP in this
process.

A difference of a few per mille is below what turns can show on a busy machine. So the processor
time of a span is measured by itself, with its export and its receipt; `share` is what all spans of
the traced sends take of the time that the suite needs for all sends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.telemetry import open_traces
from tests.bench import memory
from tests.bench.arrivals import Arrivals, judged
from tests.bench.load import APP, FIRST, TEXT, TRANSPORTS, Load, comes_out
from tests.bench.suite import ONE, fresh_suite
from tests.otlp.receiver import receiving

RATIO: Final = 0.01
BAR: Final = 0.97
SEND_EVENTS: Final = 100
TURN_SENDS: Final = 3_000
WARM_UP_SENDS: Final = 1_000
FLAT_OUT: Final = 10_000_000
"""More events a second than are taken."""
LIMIT_S: Final = 120.0
POLL_S: Final = 0.02
SPANS: Final = 5_000


@dataclass(slots=True)
class Turns:
    """A suite, and what its turns showed: events a second, and its seconds of processor time for a
    million events."""

    suite: ProcessSuite
    load: Load
    arrivals: Arrivals
    per_second: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    wanted: int = 0
    """Rows, of all that was sent."""

    async def turn(self, sends: int) -> tuple[float, float]:
        """(events a second, seconds of processor time for a million events)."""
        before_s, began_s = self._cpu_s(), time.monotonic()
        events, first = sends * SEND_EVENTS, FIRST + self.load.sent.events
        self.wanted += int(comes_out(np.arange(first, first + events)).sum())
        await self.load.run(FLAT_OUT, events / FLAT_OUT)
        async with asyncio.timeout(LIMIT_S):
            while self.arrivals.rows < self.wanted:
                await asyncio.sleep(POLL_S)
        seen = zip(self.arrivals.numbers, self.arrivals.times_s, strict=True)
        took_s = max(at_s for numbers, at_s in seen if len(numbers)) - began_s
        return events / took_s, 1e6 * (self._cpu_s() - before_s) / events

    async def measure(self) -> None:
        """One turn that counts."""
        per_second, cpu_s = await self.turn(TURN_SENDS)
        self.per_second.append(per_second)
        self.cpu_s.append(cpu_s)

    def _cpu_s(self) -> float:
        return sum(memory.cpu_seconds(one.pid) for one in self.suite.processes.values() if one.pid)


@contextlib.asynccontextmanager
async def _ready(ratio: float, url: str, keep: bool) -> AsyncIterator[Turns]:
    """A suite that has folded its first events, within the block."""
    settings = {
        "LOCKSTEP_TELEMETRY__TRACE_RATIO": str(ratio),
        "LOCKSTEP_TELEMETRY__OTLP_URL": url,
    }
    async with fresh_suite(keep, ONE, settings) as (suite, world, client):
        await client.deploy(TEXT)
        async with asyncio.timeout(LIMIT_S):
            while not any(one["ready"] for one in (await client.status(APP))["replicas"]):
                await asyncio.sleep(POLL_S)
        arrivals = Arrivals(await world.bus.output_log(max(await world.bus.logs(APP))))
        reading = asyncio.create_task(arrivals.run())
        transport = TRANSPORTS["ndjson"]
        load = Load(transport, transport.sender(client, world.bus), SEND_EVENTS)
        try:
            yield Turns(suite, load, arrivals)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def measured(pairs: int, *, keep: bool = False) -> dict[str, Any]:
    """So many pairs of turns, with either first."""
    with receiving() as spans:
        async with _ready(0.0, spans.url, keep) as plain, _ready(RATIO, spans.url, keep) as traced:
            for each in (plain, traced):
                await each.turn(WARM_UP_SENDS)
            for number in range(pairs):
                for each in (plain, traced) if number % 2 else (traced, plain):
                    await each.measure()
                print(
                    f"tracing: {plain.per_second[-1]:,.0f}/s without,"
                    f" {traced.per_second[-1]:,.0f}/s with",
                    flush=True,
                )
            sides = (plain, traced)
            wrong = [judged(each.arrivals, each.load.sent, from_batch=0) for each in sides]
        names = [span.name for span in spans.seen]
        span_us = _span_us(spans.url)
    ratios = _ratios(traced.per_second, plain.per_second)
    cpu = _ratios(traced.cpu_s, plain.cpu_s)
    ratio = statistics.median(traced.per_second) / statistics.median(plain.per_second)
    send_us = statistics.median(plain.cpu_s) * SEND_EVENTS
    spans_of_send = len(names) / max(1, names.count("receive"))
    return {
        "name": f"{RATIO:.0%} of sends of {SEND_EVENTS} events",
        "pairs": pairs,
        "without_per_second": round(statistics.median(plain.per_second)),
        "with_per_second": round(statistics.median(traced.per_second)),
        "ratio": round(ratio, 3),
        "median_of_pairs": round(statistics.median(ratios), 3),
        "worst": round(min(ratios), 3),
        "cpu_ratio": round(statistics.median(cpu), 3),
        "cpu_worst": round(max(cpu), 3),
        "span_us": round(span_us),
        "send_us": round(send_us),
        "share": round(RATIO * spans_of_send * span_us / send_us, 4),
        "spans": len(names),
        "stages": len(set(names)),
        "lost": sum(each.lost for each in wrong),
        "duplicated": sum(each.duplicated for each in wrong),
        "load_average": round(os.getloadavg()[0], 1),
        "below": ratio < BAR,
    }


def _span_us(url: str) -> float:
    """Microseconds of processor time that a span takes, with its export and its receipt."""
    traces = open_traces(
        ratio=1.0, url=url, service="bench", node="bench",
        clock=SystemClock(), randomness=SystemRandomness(),
    )  # fmt: skip
    began_s = time.process_time()
    for _ in range(SPANS):
        with traces.root("receive", app=APP, stream="Trade"):
            pass
    traces.close()
    return 1e6 * (time.process_time() - began_s) / SPANS


def _ratios(those: Sequence[float], these: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(those, these, strict=True)]


def tracing_figures(pairs: int, *, keep: bool = False) -> list[dict[str, Any]]:
    """Measures, and prints a line."""
    row = asyncio.run(measured(pairs, keep=keep))
    print(
        f"tracing: {row['without_per_second']:,}/s without, {row['with_per_second']:,}/s with:"
        f" {row['ratio']} (worst pair {row['worst']}), processor time {row['cpu_ratio']}"
        f" (worst {row['cpu_worst']}), share of spans {row['share']},"
        f" {row['spans']} spans, lost {row['lost']}, twice {row['duplicated']}"
        f"{' below' if row['below'] else ''}"
    )
    return [row]
