"""NEXMark's queries here and on Flink SQL, in turns, with the same events, in one run.

Flink reads the events from files of CSV with its own format, on two tasks, as fast as it can, and
gives what it finds to a blackhole. Its time runs from when its first task runs to when the last one
has finished: neither the start of the process nor the planning counts. Ours gets the log's bytes.
Both decode within the time. A query is asked once before, to compare its rows with DuckDB's.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.spark import close_slices
from tests.bench.beside import Events, Row, differences, events_of, own_seconds, rates_of, ratios
from tests.bench.flink.engine import (
    PARALLELISM,
    Flink,
    NotInFlinkError,
    compile_driver,
    flink,
)
from tests.bench.flink.statements import QUERIES, SETTINGS, statements, write_files
from tests.bench.nexmark.run import Query, queries
from tests.bench.workload import numpy_seconds

LOCKSTEP, FLINK = "lockstep", "flink"


def flink_figures(only: str, runs: int, events: int) -> list[Row]:
    """A row for each query that both can say; of the others the reason is printed."""
    prepare_spark_environment()
    drawn = events_of(events)
    print(
        f"{'NEXMark':8}{'lockstep':>12}{'flink':>12}{'ratio':>8}{'worst':>8}{'rows':>11}"
        f"{'changes':>11}{'wrong':>7}"
    )
    rows = []
    with tempfile.TemporaryDirectory() as place:
        classes, files = Path(place) / "classes", Path(place) / "events"
        compile_driver(classes)
        write_files(drawn.found, drawn.schemas, files, PARALLELISM)
        with flink(classes, Path(place)) as other:
            for query in queries():
                if only in query.name:
                    rows += _rows(query, drawn, other, files, runs)
    close_slices()
    return rows


def _rows(query: Query, drawn: Events, other: Flink, files: Path, runs: int) -> list[Row]:
    """Printed; none where Flink does not take the query."""
    asked = (QUERIES / f"{query.name}.sql").read_text()
    text = statements(asked, drawn.schemas, files, drawn.last_ms, SETTINGS)
    try:
        row = measured(query, text, drawn, other, runs)
    except NotInFlinkError as error:
        print(f"{query.name:8}{str(error)[:120]}", flush=True)
        return []
    print(
        f"{row['name']:8}{row['events_per_second']:12,}{row['flink_events_per_second']:12,}"
        f"{row['ratio']:8}{row['worst_ratio']:8}{row['rows']:11,}{row['flink_changes']:11,}"
        f"{row['wrong']:7}",
        flush=True,
    )
    return [row]


def measured(query: Query, text: str, drawn: Events, other: Flink, runs: int) -> Row:
    """Medians of some turns after one to warm up, and how many of Flink's rows are wrong."""
    changes, standing = other.standing(text)
    rows, wrong = differences(query, drawn.judge, standing)

    def turn() -> dict[str, float]:
        return {LOCKSTEP: own_seconds(query.text, drawn.slices), FLINK: other.seconds(text)}

    own_seconds(query.text, drawn.slices)
    rates = rates_of([turn() for _ in range(runs)], drawn.count)
    ratio, worst = ratios(rates, LOCKSTEP, FLINK)
    return {
        "name": query.name,
        "about": query.about,
        "events_per_second": _median(rates[LOCKSTEP]),
        "flink_events_per_second": _median(rates[FLINK]),
        "ratio": ratio,
        "worst_ratio": worst,
        "rows": rows,
        "wrong": wrong,
        "flink_changes": changes,
        "runs": rates,
        "numpy_ms": round(1000 * numpy_seconds(), 1),
    }


def _median(rates: Sequence[int]) -> int:
    return round(statistics.median(rates))
