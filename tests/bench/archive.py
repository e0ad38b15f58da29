"""The archive and what stands on it, side by side in one run: how fast a log is archived and read
back, and a running sum per key by the live engine, by back-tests, and by plain Spark SQL and
DuckDB over the same files."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import DataFrame

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader
from lockstep.events.codec import EncodedEntry
from lockstep.execute.spark import SparkExecutor
from lockstep.execute.spark.bulk import run_tasks, session_of
from lockstep.history.asking import spark_options
from lockstep.history.backtest import Wanted, backtest, run_here
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from tests.bench.workload import Log, slices_of

TEXT = """
@app:name('Bench') @app:playback
define stream Trade (symbol string, price double, volume long);
from Trade select symbol, sum(volume) as total group by symbol insert into Total;
"""
BATCH_RECORDS = 50
RUNNING_SUM = """
select symbol, sum(volume) over (partition by symbol order by _position, _row
       rows unbounded preceding) as total from {files}
"""


def archive_figures(events: int, runs: int) -> list[dict[str, Any]]:
    """A row per figure: events per second, the best and the median of some runs."""
    log = Log([plan_of(TEXT).schemas["Trade"]])
    entries = log.take(events)
    rows: list[dict[str, Any]] = []

    def measured(name: str, work: Callable[[], object], times: int = runs) -> None:
        rates = []
        for _ in range(times):
            begun = time.perf_counter()
            work()
            rates.append(events / (time.perf_counter() - begun))
        rates.sort()
        load = os.getloadavg()[0]
        row = {"name": name, "events_per_second": round(rates[len(rates) // 2])}
        row |= {"best": round(rates[-1]), "events": events, "load": round(load, 1)}
        rows.append(row)
        print(
            f"{name:44} {row['events_per_second']:>11,} events/s  best {row['best']:>11,}"
            f"  load {load:.1f}"
        )

    with tempfile.TemporaryDirectory(prefix="lockstep-archive-") as folder:
        place, logs = Place(folder), Logs("Bench")
        side = SideArchive(place, logs, INPUT)
        measured("written to the archive", partial(_written, side, entries), 1)
        files = [one for _, table in side.tables() for one in table.files()]
        size = sum(Path(one).stat().st_size for one in files)
        print(f"{'':44} {size / events:>11.1f} bytes an event in its stream's table")
        reader = InputReader(place, logs)
        measured("read back as records", lambda: sum(map(len, reader.slices(reader.bounds()))))
        settings = load_settings({**os.environ})
        numbers = iter(range(10_000))

        def tested(run: Any, parallel: int) -> None:
            wanted = Wanted(TEXT, parallel=parallel, compare=False)
            report = backtest(wanted, place, settings, run, f"run{next(numbers)}")
            assert report.done.rows == events, report

        _live(entries[:1])  # Spark starts, and kernels are compiled
        measured("live engine: Spark, slices in memory", partial(_live, entries))
        measured("back-test in this process", partial(tested, run_here, 1))
        on_spark = partial(run_tasks, options=spark_options(settings))
        measured("back-test on Spark, one task", partial(tested, on_spark, 1))
        measured("back-test on Spark, two tasks", partial(tested, on_spark, 2))
        target = Path(folder) / "duckdb.parquet"
        measured("DuckDB over the same files", partial(_asked, files, target))
        session, target = session_of(spark_options(settings)), Path(folder) / "spark.parquet"
        view = session.read.parquet(*files)
        measured("plain Spark SQL over the same files", partial(_asked_spark, view, target))
    return rows


def _written(side: SideArchive, entries: list[EncodedEntry]) -> None:
    for start in range(0, len(entries), BATCH_RECORDS):
        side.write(rows_of(entries[start : start + BATCH_RECORDS]))


def _live(entries: list[EncodedEntry]) -> None:
    executor = SparkExecutor(plan_of(TEXT))
    try:
        assert sum(len(executor.run_encoded(one).rows) for one in slices_of(entries, 25))
    finally:
        executor.close()


def _asked(files: list[str], target: Path) -> None:
    target.unlink(missing_ok=True)
    asked = RUNNING_SUM.format(files="read_parquet(?)")
    duckdb.execute(f"copy ({asked}) to '{target}' (format parquet)", [files])


def _asked_spark(files: DataFrame, target: Path) -> None:
    asked = files.sparkSession.sql(RUNNING_SUM.format(files="{files}"), files=files)
    asked.write.mode("overwrite").parquet(str(target))
