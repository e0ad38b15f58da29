"""What `spark.app_max_tasks` does for the neighbours of a busy app: both on one Spark of four
workers, the busy one with as many partitions as there are workers, at several limits."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any, Final

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.spark import SparkExecutor, SparkOptions, close_slices
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from tests.bench.queries import TRADES
from tests.bench.workload import RECORD_EVENTS, Log, slices_of

WORKERS: Final = 4
LIMITS: Final = (None, 3, 1)
SECONDS: Final = 8.0
PAUSE_S: Final = 0.02
SLICE_RECORDS: Final = 5
"""Of 20,000 events: a slice that a processor takes at most."""

AGAIN_RECORDS: Final = 100
"""Made before the turn; each comes again and again, under the next position."""

QUERY: Final = (
    "from Trade#window.length(1000) select symbol, avg(price) as mean group by symbol"
    " insert into Means;"
)

Row = dict[str, Any]


def limits_figures(runs: int) -> list[Row]:
    """A row for each limit, measured in turns: the median of `runs` turns."""
    prepare_spark_environment()
    turns = [{limit: _turn(limit) for limit in LIMITS} for _ in range(runs)]
    close_slices()
    print(f"{'busy app in at most':24}{'neighbour p50':>16}{'p99':>8} ms{'busy events/s':>16}")
    return [_row(limit, [turn[limit] for turn in turns]) for limit in LIMITS]


Turn = tuple[float, float, float]
"""The neighbour's median and 99th percentile in milliseconds; events a second of the busy app."""


def _turn(limit: int | None) -> Turn:
    with ExitStack() as stack:
        busy = [stack.enter_context(closing(_made("Busy", limit))) for _ in range(WORKERS)]
        small = stack.enter_context(closing(_made("Small", None)))
        folded = stack.enter_context(_kept_busy(busy))
        log = Log([plan_of(TRADES + QUERY).schemas["Trade"]], seed=2)
        took: list[float] = []
        begun, before = time.perf_counter(), sum(folded)
        while time.perf_counter() - begun < SECONDS:
            entries = log.take(1, 1)
            asked = time.perf_counter()
            small.run_encoded(entries)
            took.append(1000 * (time.perf_counter() - asked))
            time.sleep(PAUSE_S)
        events = sum(folded) - before
        seconds = time.perf_counter() - begun
    return statistics.median(took), statistics.quantiles(took, n=100)[98], events / seconds


def _made(name: str, tasks_max: int | None) -> SparkExecutor:
    return SparkExecutor(
        plan_of(f"@app:name('{name}')\n{TRADES}{QUERY}"),
        base_max_bytes=load_settings({}).processor.rebuild_max_bytes,
        options=SparkOptions(slots=WORKERS),
        tasks_max=tasks_max,
    )


@contextmanager
def _kept_busy(executors: list[SparkExecutor]) -> Iterator[list[int]]:
    """Each folds slice after slice in a thread of its own; how many events each has folded."""
    log = Log([plan_of(TRADES + QUERY).schemas["Trade"]])
    slices = slices_of(log.take(AGAIN_RECORDS * RECORD_EVENTS), SLICE_RECORDS)
    folded = [0] * len(executors)
    is_over = threading.Event()

    def fold(number: int) -> None:
        executor = executors[number]
        while not is_over.is_set():
            for slice_ in slices:
                if is_over.is_set():
                    return
                at = executor.position + 1
                executor.run_encoded(
                    [replace(each, position=at + n) for n, each in enumerate(slice_)]
                )
                folded[number] += SLICE_RECORDS * RECORD_EVENTS

    threads = [threading.Thread(target=fold, args=(n,)) for n in range(len(executors))]
    for thread in threads:
        thread.start()
    try:
        yield folded
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _row(limit: int | None, turns: list[Turn]) -> Row:
    half, slowest, rate = (statistics.median(each) for each in zip(*turns, strict=True))
    name = "any number of tasks" if limit is None else f"tasks: {limit}"
    print(f"{name:24}{half:>16.1f}{slowest:>8.1f}   {rate:>16,.0f}")
    return {
        "name": name,
        "neighbour_p50_ms": round(half, 1),
        "neighbour_p99_ms": round(slowest, 1),
        "busy_events_per_second": round(rate),
    }
