"""An archive of many rows: how fast it is written, put together, asked and folded again, and in how
much memory. Each stage is a process of its own, so that each has a peak of its own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive, keep_up
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.embedded import prepare_spark_environment
from lockstep.events.codec import EncodedEntry
from lockstep.execute.spark import SparkExecutor
from lockstep.execute.spark.bulk import session_of
from lockstep.history.asking import History, answered, spark_options
from lockstep.history.backtest import Wanted, backtest, run_here
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from tests.bench.memory import peak_mib
from tests.bench.workload import RECORD_EVENTS, Log, slices_of

TEXT: Final = """
@app:name('Bench') @app:playback
define stream Trade (symbol string, price double, volume long);
from Trade select symbol, sum(volume) as total group by symbol insert into Total;
"""
BATCH_EVENTS: Final = 1_000_000
"""About what `archive.batch_bytes` gathers."""

FILE_BYTES: Final = 134_217_728
QUERIES: Final = {
    "totals": "select symbol, count(*) as n, sum(volume) as total, avg(price) as mean from {} "
    "group by symbol order by symbol",
    "a tenth by position": "select count(*) as n, sum(volume) as total from {} "
    "where _position > {first} and _position <= {last}",
    "one record": "select symbol, price, volume from {} where _position = {last} order by _row",
}
Found = dict[str, float]
"""Seconds by name; `rows` where there are some."""


def _batches(events: int) -> Iterator[list[EncodedEntry]]:
    log = Log([plan_of(TEXT).schemas["Trade"]])
    for start in range(0, events, BATCH_EVENTS):
        yield log.take(min(BATCH_EVENTS, events - start))


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _queries(events: int, table: str) -> dict[str, str]:
    records = events // RECORD_EVENTS
    span = {"first": records // 2, "last": records // 2 + max(1, records // 10)}
    return {name: sql.format(table, **span) for name, sql in QUERIES.items()}


def write(folder: str, events: int) -> Found:
    """All of it, a batch at a time; what makes the batches is not counted."""
    side = SideArchive(Place(folder), Logs("Bench"), INPUT)
    took = 0.0
    for entries in _batches(events):
        took += _timed(lambda entries=entries: side.write(rows_of(entries)))  # type: ignore[misc]
    return {"written": took}


def compact(folder: str, events: int) -> Found:
    """Small files put together, and the replaced ones removed."""
    side = SideArchive(Place(folder), Logs("Bench"), INPUT)
    return {
        "put together": _timed(
            lambda: list(keep_up(side, lambda _: None, None, 0, file_bytes=FILE_BYTES, keep_ms=0))
        )
    }


def ask(folder: str, events: int) -> Found:
    """As `lockstep archive query` does."""
    prepare_spark_environment()
    history = History(Place(folder))
    answered(history, "select 1", None, 1)  # Spark is there
    asked = _queries(events, "Trade")
    return {
        f"archive query: {name}": _timed(lambda sql=sql: answered(history, sql, None, 100_000))  # type: ignore[misc]
        for name, sql in asked.items()
    }


def ask_spark(folder: str, events: int) -> Found:
    """Plain Spark SQL over the same Parquet files, by their folder."""
    prepare_spark_environment()
    session = session_of(spark_options(load_settings({**os.environ})))
    (table,) = [one for _, one in SideArchive(Place(folder), Logs("Bench"), INPUT).tables()]
    session.sql("select 1").collect()
    asked = _queries(events, f"parquet.`{table.address}`")
    return {
        f"plain Spark SQL: {name}": _timed(lambda sql=sql: session.sql(sql).toArrow())  # type: ignore[misc]
        for name, sql in asked.items()
    }


def ask_duckdb(folder: str, events: int) -> Found:
    """DuckDB over the same files."""
    (table,) = [one for _, one in SideArchive(Place(folder), Logs("Bench"), INPUT).tables()]
    asked = _queries(events, f"read_parquet({table.files()!r})")
    return {
        f"DuckDB: {name}": _timed(lambda sql=sql: duckdb.execute(sql).to_arrow_table())  # type: ignore[misc]
        for name, sql in asked.items()
    }


def fold(folder: str, events: int) -> Found:
    """A back-test in one process; its rows are written as well."""
    settings = load_settings({**os.environ})
    wanted = Wanted(TEXT, compare=False)
    found: list[int] = []
    took = _timed(
        lambda: found.append(
            backtest(wanted, Place(folder), settings, run_here, "volume").done.rows
        )
    )
    assert found == [events], found
    return {"back-test in one process": took}


def live(folder: str, events: int) -> Found:
    """The live engine on slices in memory; what makes the slices is not counted."""
    prepare_spark_environment()
    executor = SparkExecutor(plan_of(TEXT))
    took = 0.0
    try:
        for entries in _batches(events):
            for part in slices_of(entries, 25):
                took += _timed(lambda part=part: len(executor.run_encoded(part).rows))  # type: ignore[misc]
    finally:
        executor.close()
    return {"live engine: Spark, slices in memory": took}


STAGES: Final[dict[str, Callable[[str, int], Found]]] = {
    one.__name__: one for one in (write, compact, ask, ask_spark, ask_duckdb, fold, live)
}


def archive_volume_figures(events: int) -> list[dict[str, Any]]:
    """A row for each figure: seconds, events per second, peak memory of its process."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="lockstep-archive-") as folder:
        for stage in STAGES:
            done = subprocess.run(
                [sys.executable, "-m", "tests.bench.archive_volume", stage, folder, str(events)],
                check=True, stdout=subprocess.PIPE,
            )  # fmt: skip
            said = json.loads(done.stdout.splitlines()[-1])
            load = round(os.getloadavg()[0], 1)
            for name, seconds in said["seconds"].items():
                row = {"name": f"{name}, {events:,} rows", "seconds": round(seconds, 2)}
                row |= {"events_per_second": round(events / seconds), "load": load}
                row |= {f"peak_{kind}_mib": peak for kind, peak in said["peak_mib"].items()}
                rows.append(row)
                print(
                    f"{name:44} {seconds:>9.2f} s {events / seconds:>13,.0f} rows/s  peak MiB "
                    f"{said['peak_mib']}  load {load}",
                    flush=True,
                )
            if stage in ("write", "compact"):
                size = sum(one.stat().st_size for one in Path(folder).rglob("*.parquet"))
                print(f"{'':44} {size / events:>9.1f} bytes a row on disk", flush=True)
    return rows


def main() -> None:
    """One stage, in this process; its figures are the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("folder")
    parser.add_argument("events", type=int)
    options = parser.parse_args()
    seconds = STAGES[options.stage](options.folder, options.events)
    print(json.dumps({"seconds": seconds, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main()
