"""Each query of the bench on both engines, in turns, with the same events, in one run.

Siddhi gets its events as objects that were made before the clock runs, one at a time as in our log,
and a second time 1,000 in one call; the better of the two counts. Ours gets the log's bytes, which
it decodes within the time. How many rows came has to be the same where events were sent one by one.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.spark import SparkExecutor, close_slices
from lockstep.plan import plan_of
from lockstep.siddhiql import check
from tests.bench.queries import BENCHES, QUOTES, TRADES, Bench
from tests.bench.shared import APPS
from tests.bench.siddhi.engine import Siddhi, Taken, siddhi
from tests.bench.workload import RECORD_EVENTS, Log, numpy_seconds, slices_of

TOGETHER: Final = 1_000
SLICE_EVENTS: Final = 500_000
LIMITS_EVENTS: Final = 1_000
LOCKSTEP, ONE_BY_ONE, THOUSANDS = "lockstep", "siddhi", "siddhi, 1,000 together"

Row = dict[str, Any]


class Beside:
    """One app on both engines; each has seen the same."""

    def __init__(self, bench: Bench, other: Siddhi, record_events: int) -> None:
        names = ("Trade", "Quote") if bench.two_streams else ("Trade",)
        schemas = check(bench.text).streams
        self._bench = bench
        self._other = other
        self._record_events = record_events
        self._log = Log([schemas[name] for name in names])
        self._own = SparkExecutor(plan_of(bench.text))
        other.open(bench.text)
        if bench.limits:
            (first,) = Log([schemas["Quote"]], seed=2).take(LIMITS_EVENTS)
            self._own.run_encoded([first])
            other.send([first], 1)
            self._log.take(RECORD_EVENTS)  # its position is taken

    def turn(self, events: int) -> dict[str, Taken]:
        """The next events of the log on one engine, then on the other; behind them as many in
        calls of 1,000 on the other, which the first one takes outside of any time."""
        entries = self._log.take(events, self._record_events)
        found = {LOCKSTEP: self._folded(entries), ONE_BY_ONE: self._other.send(entries, 1)}
        entries = self._log.take(events, self._record_events)
        self._folded(entries)
        return {**found, THOUSANDS: self._other.send(entries, TOGETHER)}

    def _folded(self, entries: Sequence[Any]) -> Taken:
        rows = 0
        begun = time.perf_counter()
        for each in slices_of(entries, max(1, SLICE_EVENTS // self._record_events)):
            rows += len(self._own.run_encoded(each).rows)
        return Taken(time.perf_counter() - begun, rows)

    def close(self) -> None:
        """Ends the app on both."""
        self._own.close()
        self._other.close()


def beside(bench: Bench, other: Siddhi, runs: int, events: int) -> Row:
    """Medians, and the worst of each pair, after a turn to warm both up."""
    pair = Beside(bench, other, bench.record_events)
    try:
        pair.turn(events)
        turns = [pair.turn(events) for _ in range(runs)]
    finally:
        pair.close()
    rates = {
        name: [round(events / turn[name].seconds) for turn in turns]
        for name in (LOCKSTEP, ONE_BY_ONE, THOUSANDS)
    }
    best = max((ONE_BY_ONE, THOUSANDS), key=lambda name: statistics.median(rates[name]))
    ours, theirs = statistics.median(rates[LOCKSTEP]), statistics.median(rates[best])
    differing = [turn for turn in turns if turn[LOCKSTEP].rows != turn[ONE_BY_ONE].rows]
    return {
        "name": bench.name,
        "events_per_second": round(ours),
        "siddhi_events_per_second": round(theirs),
        "ratio": round(ours / theirs, 2),
        "worst_ratio": round(min(rates[LOCKSTEP]) / max(rates[best]), 2),
        "rows": turns[-1][LOCKSTEP].rows,
        "differing_turns": len(differing),
        "runs": rates,
        "numpy_ms": round(1000 * numpy_seconds(), 1),
    }


def siddhi_figures(only: str, runs: int, events: int) -> list[Row]:
    """A row for each query that both can say."""
    prepare_spark_environment()
    shared = [
        Bench(name, f"{TRADES}{QUOTES}{text}", 0.0, two_streams=True, record_events=2_000)
        for name, text in APPS.items()
        if "unique:" not in text
    ]
    print(f"{'':40}{'lockstep':>12}{'siddhi':>12}{'ratio':>8}{'worst':>8}{'rows':>12}  differing")
    found = []
    for bench in (*BENCHES, *shared):
        if only not in bench.name:
            continue
        with tempfile.TemporaryDirectory() as folder, siddhi(Path(folder)) as other:
            row = beside(bench, other, runs, events)
        print(
            f"{row['name']:40}{row['events_per_second']:12,}{row['siddhi_events_per_second']:12,}"
            f"{row['ratio']:8}{row['worst_ratio']:8}{row['rows']:12,}  {row['differing_turns']}",
            flush=True,
        )
        found.append(row)
    close_slices()
    return found
