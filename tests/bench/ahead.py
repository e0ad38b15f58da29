"""What it brings that the next slice is read and written while one is folded, on Spark: the same
log with slices that are announced and with slices that come as a surprise, in turns."""

from __future__ import annotations

import statistics
from typing import Any, Final

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.spark import close_slices
from lockstep.settings import load_settings
from lockstep.siddhiql import check
from tests.bench.queries import BENCHES, Bench
from tests.bench.workload import RECORD_EVENTS, Log, owned, seconds_of, slices_of

EVENTS: Final = 2_000_000
LARGE_SLICE_EVENTS: Final = 500_000
LIMITS_EVENTS: Final = 1_000

Row = dict[str, Any]


def ahead_figures(only: str, runs: int) -> list[Row]:
    """A row for each query and size of slices: the processor's own limit, and a large one."""
    prepare_spark_environment()
    sizes = (load_settings({}).processor.slice_max_events, LARGE_SLICE_EVENTS)
    print(f"{'':40}{'slice':>10}{'surprise':>10}{'announced':>10}{'ratio':>8}")
    found = []
    for bench in BENCHES:
        if only in bench.name:
            found += [_row(bench, size, runs) for size in sizes]
    close_slices()
    return found


def _row(bench: Bench, slice_events: int, runs: int) -> Row:
    streams = check(bench.text).streams
    names = ("Trade", "Quote") if bench.two_streams else ("Trade",)
    log = Log([streams[name] for name in names])
    executor, size = owned(bench.text), bench.record_events
    try:
        if bench.limits:
            executor.run_encoded(Log([streams["Quote"]], seed=2).take(LIMITS_EVENTS))
            log.take(RECORD_EVENTS)  # its position is taken

        def turn(*, announced: bool) -> float:
            slices = slices_of(log.take(EVENTS, size), slice_events // size)
            return seconds_of(executor, slices, announced=announced)[0]

        turn(announced=False)
        turns = [(turn(announced=False), turn(announced=True)) for _ in range(runs)]
    finally:
        executor.close()
    alone, ahead = (1e9 * statistics.median(each) / EVENTS for each in zip(*turns, strict=True))
    row = {
        "name": f"{bench.name}, slices of {slice_events:,}",
        "surprise_ns": round(alone, 1),
        "announced_ns": round(ahead, 1),
        "ratio": round(alone / ahead, 2),
    }
    print(
        f"{bench.name:40}{slice_events:10,}{alone:10.1f}{ahead:10.1f}{row['ratio']:8}", flush=True
    )
    return row
