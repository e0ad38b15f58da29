"""NEXMark: `make bench ARGS='--part nexmark --events 3m --only q05 --runs 3'`.

Each query of the folder `queries` is folded on Spark, from log slices in memory to output columns.
What it gives is compared with what DuckDB makes of the same events. A query is right when the rows
are the same, as often. Not among them are 6, which takes back what it said before, 10, which
writes files, and 15, which is 16 without channels.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from lockstep.embedded import prepare_spark_environment
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import OutputColumns, in_columns
from lockstep.execute.contract import Executor
from lockstep.execute.spark import close_slices
from lockstep.plan import plan_of
from tests.bench.nexmark.generator import ROUND_EVENTS, SCHEMA, NexmarkLog, Round, rounds
from tests.bench.workload import numpy_seconds, owned, run_all

QUERIES: Final = Path(__file__).with_name("queries")
SLICE_ROUNDS: Final = 100
DIGITS: Final = 6


@dataclass(frozen=True)
class Query:
    """`how` the answer is to be read: all rows; the last, or the most, by a key; a table; or all
    rows without those of another stream, which left again."""

    name: str
    about: str
    text: str
    sql: str
    how: str

    @classmethod
    def of(cls, path: Path) -> Query:
        """From its two files, whose first lines say what it is about, and how to read it."""
        text, sql = path.read_text(), path.with_suffix(".sql").read_text()
        first = sql.splitlines()[0]
        how = first.removeprefix("-- ") if first.startswith("--") else "rows"
        about = text.splitlines()[0].removeprefix("-- ").rstrip(".")
        return cls(path.stem, about, f"@app:name('{path.stem}')\n{SCHEMA}{text}", sql, how)


def queries() -> list[Query]:
    """All of them, by number."""
    return [Query.of(path) for path in sorted(QUERIES.glob("q*.siddhi"))]


class Judge:
    """What DuckDB makes of the events."""

    def __init__(self, found: Sequence[Round]) -> None:
        self._duck = duckdb.connect()
        names = plan_of(f"@app:name('Schema')\n{SCHEMA}from Bid select auction insert into Out;")
        for stream in ("Person", "Auction", "Bid"):
            attributes = list(names.schemas[stream].names)
            batches = [getattr(one, stream.lower()).rename_columns(attributes) for one in found]
            events = pa.Table.from_batches(batches)
            self._duck.register("events", events)
            self._duck.execute(
                f"create table {stream.lower()} as select *, row_number() over () as n from events"
            )
            self._duck.unregister("events")

    def seconds_and_rows(self, query: Query) -> tuple[float, pa.Table]:
        """Its own answer, and how long it took."""
        begun = time.perf_counter()
        rows = self._duck.execute(query.sql).to_arrow_table()
        return time.perf_counter() - begun, rows

    def differences(self, query: Query, wanted: pa.Table, answer: Answer) -> int:
        """How many rows are missing or too many."""
        given = answer.rows
        if query.how.startswith(("last by", "most by")):
            key = query.how.split(" by ")[1].split(", ")
            given = self._one_for_each(given, key, most=query.how.startswith("most"))
        gone = answer.gone if query.how.startswith("without") else None
        return self._unlike(wanted, given, gone)

    def _one_for_each(self, rows: pa.Table, key: Sequence[str], *, most: bool) -> pa.Table:
        order = rows.column_names[-1] if most else "n"
        numbered = rows.append_column("n", pa.array(range(len(rows))))
        self._duck.register("given", numbered)
        of = ", ".join(key)
        return self._duck.execute(
            f"select * exclude n from given qualify row_number() over (partition by {of} order by {order} desc) = 1"  # noqa: E501
        ).to_arrow_table()

    def _unlike(self, wanted: pa.Table, given: pa.Table, gone: pa.Table | None) -> int:
        rounded = [_alike(one) for one in (wanted, given, gone) if one is not None]
        for name, one in zip(("wanted", "given", "gone"), rounded, strict=False):
            self._duck.register(name, one)
        stays = "select * from given"
        if gone is not None:
            stays = "select * from given except all select * from gone"
        (count,) = self._duck.execute(
            f"select (select count(*) from (select * from wanted except all ({stays})))"
            f" + (select count(*) from (({stays}) except all select * from wanted))"
        ).fetchall()[0]
        return int(count)


@dataclass(frozen=True)
class Answer:
    """Rows in the order in which they came; `gone`: of the stream `Gone`."""

    rows: pa.Table
    gone: pa.Table | None = None  # a table has none


def _alike(rows: pa.Table) -> pa.Table:
    """Columns by number, whole numbers as longs, fractions to some digits."""
    columns = []
    for column in rows.columns:
        found = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_floating(found.type) or pa.types.is_decimal(found.type):
            found = pa.compute.round(found.cast(pa.float64()), DIGITS)
        elif pa.types.is_integer(found.type):
            found = found.cast(pa.int64())
        elif not pa.types.is_boolean(found.type):
            found = found.cast(pa.string())
        columns.append(found)
    return pa.table(columns, names=[f"c{n}" for n in range(len(columns))])


def _table(parts: Sequence[OutputColumns], stream: str, like: pa.Table) -> pa.Table:
    batches = [part.batch for part in parts if part.stream == stream]
    return pa.Table.from_batches(batches) if batches else like.slice(0, 0)


def folded(executor: Executor, log: Sequence[Sequence[EncodedEntry]]) -> Iterator[OutputColumns]:
    """Folds all slices; gives what comes out."""
    for result in run_all(executor, log):
        yield from in_columns(result.rows).columns


def answer_of(
    query: Query, executor: Executor, parts: Sequence[OutputColumns], wanted: pa.Table
) -> Answer:
    """What the query has said; where it said nothing, no row of those that are wanted."""
    if query.how.startswith("table"):
        rows = executor.on_demand(f"from {query.how.removeprefix('table ')} select *")
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        return Answer(pa.table(columns, names=[f"c{n}" for n in range(len(columns))]))
    return Answer(_table(parts, "Out", wanted), _table(parts, "Gone", wanted))


def measured(
    query: Query, log: Sequence[Sequence[EncodedEntry]], judge: Judge, *, events: int, runs: int
) -> dict[str, Any]:
    """Rates of some runs, each on a fresh state, and how many rows are wrong."""
    took, wrong = [], 0
    for run in range(runs):
        executor = owned(query.text)
        try:
            begun = time.perf_counter()
            parts = list(folded(executor, log))
            took.append(time.perf_counter() - begun)
            if run == 0:
                duck_s, wanted = judge.seconds_and_rows(query)
                wrong = judge.differences(query, wanted, answer_of(query, executor, parts, wanted))
        finally:
            executor.close()
    return {
        "name": query.name,
        "about": query.about,
        "events_per_second": round(events / statistics.median(took)),
        "worst": round(events / max(took)),
        "rows": len(wanted),
        "wrong": wrong,
        "duckdb_s": round(duck_s, 2),
    }


def slices_of(found: Sequence[Round], size: int = SLICE_ROUNDS) -> list[list[EncodedEntry]]:
    """The log, cut into slices of so many rounds."""
    log = NexmarkLog(
        dict(plan_of(f"@app:name('L')\n{SCHEMA}from Bid select auction insert into O;").schemas)
    )
    return [
        [entry for one in found[at : at + size] for entry in log.records(one)]
        for at in range(0, len(found), size)
    ]


def nexmark_figures(only: str, events: int, runs: int) -> list[dict[str, Any]]:
    """A row for each query; prints them."""
    prepare_spark_environment()
    found = list(rounds(events // ROUND_EVENTS))
    judge, log = Judge(found), slices_of(found)
    print(f"\nNEXMark, {events:,} events; NumPy work {1000 * numpy_seconds():.0f} ms")
    print(f"{'':4} {'events/s':>11} {'worst run':>11} {'rows':>10} {'wrong':>6}  about")
    rows = []
    for query in queries():
        if only in query.name:
            row = measured(query, log, judge, events=len(found) * ROUND_EVENTS, runs=runs)
            rows.append(row)
            print(
                f"{row['name']:4} {row['events_per_second']:>11,} {row['worst']:>11,}"
                f" {row['rows']:>10,} {row['wrong']:>6}  {row['about']}",
                flush=True,
            )
    close_slices()
    return rows
