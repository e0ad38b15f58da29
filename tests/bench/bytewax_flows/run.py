"""Some of NEXMark's queries here and on Bytewax, in turns, with the same events, in one run.

Bytewax gets its events in two ways: as tuples that were made before the clock runs, and as lines of
CSV, of which its flow makes tuples within the time. It runs in one process or in two, whichever was
faster when it warmed up. Ours gets the log's bytes and decodes them within the time. Rows are
compared with DuckDB's once, and counted in every turn.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.spark import close_slices
from tests.bench.beside import (
    Events,
    Row,
    differences,
    events_of,
    own_seconds,
    rates_of,
    ratios,
)
from tests.bench.bytewax_flows.engine import (
    NAMES,
    Bytewax,
    Way,
    ensure_installed,
)
from tests.bench.flink.statements import write_files
from tests.bench.nexmark.run import Query, queries
from tests.bench.workload import numpy_seconds

LOCKSTEP, OBJECTS, CSV = "lockstep", "objects", "csv"
PROCESSES: Final = (1, 2)


def bytewax_figures(only: str, runs: int, events: int) -> list[Row]:
    """A row for each query that was written for both. NoBytewaxError."""
    ensure_installed()
    prepare_spark_environment()
    drawn = events_of(events)
    print(
        f"{'NEXMark':8}{'lockstep':>12}{'objects':>12}{'ratio':>8}{'worst':>8}"
        f"{'from csv':>12}{'ratio':>8}{'worst':>8}{'rows':>11}{'wrong':>7}"
    )
    with tempfile.TemporaryDirectory() as place:
        for processes in PROCESSES:
            write_files(drawn.found, drawn.schemas, Path(place) / str(processes), processes)
        other = Bytewax(Path(place), drawn.last_ms)
        wanted = [query for query in queries() if query.name in NAMES and only in query.name]
        rows = [_shown(measured(query, drawn, other, runs)) for query in wanted]
    close_slices()
    return rows


def measured(query: Query, drawn: Events, other: Bytewax, runs: int) -> Row:
    """Medians of some turns after one to warm up, and how many of Bytewax's rows are wrong."""
    rows, wrong = differences(query, drawn.judge, other.rows(query.name))
    warm = {count: other.taken(query.name, Way(CSV, count)).seconds for count in PROCESSES}
    processes = faster(warm)
    own_seconds(query.text, drawn.slices)
    turns, counts = [], []
    for _ in range(runs):
        turn = {LOCKSTEP: own_seconds(query.text, drawn.slices)}
        for form in (OBJECTS, CSV):
            taken = other.taken(query.name, Way(form, processes))
            turn[form] = taken.seconds
            counts.append(taken.rows)
        turns.append(turn)
    rates = rates_of(turns, drawn.count)
    of_objects, of_csv = ratios(rates, LOCKSTEP, OBJECTS), ratios(rates, LOCKSTEP, CSV)
    return {
        "name": query.name,
        "about": query.about,
        "events_per_second": _median(rates[LOCKSTEP]),
        "bytewax_events_per_second": _median(rates[OBJECTS]),
        "bytewax_from_csv_events_per_second": _median(rates[CSV]),
        "ratio": of_objects[0],
        "worst_ratio": of_objects[1],
        "ratio_from_csv": of_csv[0],
        "worst_ratio_from_csv": of_csv[1],
        "processes": processes,
        "rows": rows,
        "wrong": wrong,
        "differing_turns": sum(count != rows for count in counts),
        "runs": rates,
        "numpy_ms": round(1000 * numpy_seconds(), 1),
    }


def faster(warm: Mapping[int, float]) -> int:
    """The number of processes that took fewer seconds."""
    return min(warm, key=lambda count: warm[count])


def _median(rates: Sequence[int]) -> int:
    return round(statistics.median(rates))


def _shown(row: Row) -> Row:
    print(
        f"{row['name']:8}{row['events_per_second']:12,}{row['bytewax_events_per_second']:12,}"
        f"{row['ratio']:8}{row['worst_ratio']:8}{row['bytewax_from_csv_events_per_second']:12,}"
        f"{row['ratio_from_csv']:8}{row['worst_ratio_from_csv']:8}{row['rows']:11,}"
        f"{row['wrong']:7}  {row['processes']} processes, {row['differing_turns']} differing",
        flush=True,
    )
    return row
