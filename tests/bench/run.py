"""Measures: `python -m tests.bench.run [--part engine|suite|…] [--only TEXT] …`.

The engine from log slices in memory to output columns, the suite end to end in processes of its
own, and how much memory many events take. Prints tables and writes results.json beside this file
(what was not measured this time stays there). A figure under its bar is marked `below`. Times are
wall times on a machine that should have nothing else to do; a fixed piece of NumPy work is timed
beside them.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lockstep.embedded import prepare_spark_environment
from lockstep.execute.contract import Executor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import close_slices
from lockstep.plan import build
from lockstep.siddhiql import check
from tests.bench import memory
from tests.bench.ahead import ahead_figures
from tests.bench.archive import archive_figures
from tests.bench.archive_appends import archive_appends_figures
from tests.bench.archive_volume import archive_volume_figures
from tests.bench.bytewax_flows.engine import NoBytewaxError
from tests.bench.bytewax_flows.run import bytewax_figures
from tests.bench.charts import charts_figures
from tests.bench.editing import editing_figures
from tests.bench.external import external_figures
from tests.bench.fleet import fleet_figures
from tests.bench.flink.engine import NoFlinkError
from tests.bench.flink.run import flink_figures
from tests.bench.kept import keep
from tests.bench.limits import limits_figures
from tests.bench.many import many_figures
from tests.bench.mappers import mappers_figures
from tests.bench.nexmark.run import nexmark_figures
from tests.bench.pages import pages_figures
from tests.bench.queries import BENCHES, CHAIN, GROWTH, Bench, summed_over
from tests.bench.siddhi.engine import NoSiddhiError
from tests.bench.siddhi.run import siddhi_figures
from tests.bench.suite import suite_figures, volume_figures
from tests.bench.tracing import tracing_figures
from tests.bench.workload import RECORD_EVENTS, Log, numpy_seconds, owned, seconds_of, slices_of

EVENTS = 1_000_000
VOLUME_EVENTS = 10_000_000
NEXMARK_EVENTS = 3_000_000
SLICE_EVENTS = 500_000
REFERENCE_EVENTS = 100_000
LATENCY_EVENTS = 1_000
ARCHIVED_EVENTS = 2_000_000
ARCHIVED_ROWS = 2_000_000
RESULTS = Path(__file__).with_name("results.json")

Row = dict[str, Any]
Results = dict[str, Any]


def log_of(text: str, *, two_streams: bool = False) -> tuple[Log, Log]:
    """(the app's log, a log of Quote alone that continues nothing)."""
    streams = check(text).streams
    trade, quote = streams["Trade"], streams.get("Quote", streams["Trade"])
    return Log([trade, quote] if two_streams else [trade]), Log([quote], seed=2)


def throughput(make: Callable[[], Executor], bench: Bench, runs: int, events: int = EVENTS) -> Row:
    """The median of some runs after a warm-up, with the NumPy work of the moment and the memory."""
    log, quotes = log_of(bench.text, two_streams=bench.two_streams)
    executor = make()
    size = bench.record_events
    records = SLICE_EVENTS // size
    try:
        if bench.limits:
            (first,) = quotes.take(1000)
            executor.run_encoded([first])
            log.take(RECORD_EVENTS)  # its position is taken
        seconds_of(executor, slices_of(log.take(events, size), records))
        memory.forget_peaks()
        took = []
        rows = 0
        for _ in range(runs):
            slices = slices_of(log.take(events, size), records)
            seconds, rows = seconds_of(executor, slices)
            took.append(seconds)
        rate = events / statistics.median(took)
        work = numpy_seconds()
        return {
            "name": bench.name,
            "events_per_second": round(rate),
            "bar": bench.bar,
            "below": rate < bench.bar,
            "runs": [round(events / seconds) for seconds in took],
            "rows": rows,
            "numpy_ms": round(1000 * work, 1),
            "events_per_numpy_work": round(rate * work),
            "peak_mib": memory.peak_mib(),
        }
    finally:
        executor.close()


def growth(runs: int) -> Row:
    """Cost per event of a long window against a short one, at the same rate."""
    rates = []
    for name, text in GROWTH:
        bench = Bench(name, text, 0.0)
        made = throughput(partial(owned, text), bench, runs)
        rates.append(made["events_per_second"])
    ratio = rates[0] / rates[1]
    return {"name": "time(10 min) over time(1 sec)", "ratio": round(ratio, 2), "below": ratio > 1.3}


def latency(slices: int = 200) -> Row:
    """Milliseconds of a slice of 1,000 events through five chained queries."""
    log, _ = log_of(CHAIN)
    executor = owned(CHAIN)
    try:
        took = []
        for _ in range(slices + 20):
            entries = log.take(LATENCY_EVENTS, LATENCY_EVENTS)
            begun = time.perf_counter()
            len(executor.run_encoded(entries).rows)
            took.append(1000 * (time.perf_counter() - begun))
        took = sorted(took[20:])
        p50, p99 = took[len(took) // 2], took[int(len(took) * 0.99) - 1]
        return {
            "name": "slice of 1,000 through five queries",
            "p50_ms": round(p50, 1),
            "p99_ms": round(p99, 1),
            "below": p50 > 80 or p99 > 250,
        }
    finally:
        executor.close()


def reference(runs: int) -> list[Row]:
    """The reference executor on one core, for orientation."""
    rows = []
    for bench in (
        BENCHES[0],
        Bench("time(1 min) avg sum count group by", summed_over("time(1 min)"), 0.0),
    ):
        plain = Bench(bench.name, bench.text, 0.0)
        plan = build(check(bench.text))
        make: Callable[[], Executor] = lambda plan=plan: ReferenceExecutor(plan)  # type: ignore[misc]  # noqa: E731
        rows.append(throughput(make, plain, runs, REFERENCE_EVENTS))
    return rows


def show(title: str, rows: Sequence[Row]) -> None:
    """A table of throughputs."""
    print(f"\n{title}")
    print(
        f"{'':40} {'events/s':>11} {'bar':>10}        {'per NumPy work':>14} {'JVM + Python MiB':>18}"  # noqa: E501
    )
    for row in rows:
        mark = "below" if row["below"] else ""
        peak = row["peak_mib"]
        bar = f"{row['bar']:,.0f}" if row["bar"] else ""
        print(
            f"{row['name']:40} {row['events_per_second']:>11,} {bar:>10} {mark:6}"
            f" {row['events_per_numpy_work']:>14,} {peak['jvm']:>9} + {peak['python']}"
        )


def events_of(text: str) -> int:
    """A number of events: 250000, 500k, 10m."""
    unit = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    return round(float(text.rstrip("kKmM")) * unit)


def engine_part(options: argparse.Namespace) -> Results:
    """Throughput of each query, and, unless some were chosen, growth, latency and the reference."""
    prepare_spark_environment()
    wanted = [bench for bench in BENCHES if options.only in bench.name]
    engine = [throughput(partial(owned, b.text), b, options.runs) for b in wanted]
    show("Engine, through Spark", engine)
    found: Results = {"engine": engine}
    if not options.only:
        found["growth"], found["latency"] = growth(options.runs), latency()
        for row in (found["growth"], found["latency"]):
            print({key: value for key, value in row.items() if key != "below" or value})
        found["reference"] = reference(min(options.runs, 3))
        show("Reference executor, one core", found["reference"])
    close_slices()
    return found


def suite_part(options: argparse.Namespace) -> Results:
    """The suite at set rates."""
    buses = options.bus.split(",")
    rows = suite_figures(options.only, options.seconds, keep=options.keep, buses=buses)
    return {"suite": rows}


def volume_part(options: argparse.Namespace) -> Results:
    """Many events, and where memory goes."""
    return {
        "volume": volume_figures(
            options.only, options.events or VOLUME_EVENTS, options.rate, keep=options.keep
        )
    }


def many_part(options: argparse.Namespace) -> Results:
    """Many small apps, idle and busy."""
    rows = many_figures(options.apps, options.seconds, keep=options.keep, spare=options.spare)
    return {"many": rows}


def ahead_part(options: argparse.Namespace) -> Results:
    """What reading ahead brings."""
    return {"ahead": ahead_figures(options.only, options.runs)}


def limits_part(options: argparse.Namespace) -> Results:
    """A busy app and its neighbour, with limits for the busy one."""
    return {"limits": limits_figures(options.runs)}


def fleet_part(options: argparse.Namespace) -> Results:
    """One app on several partitions."""
    return {"fleet": fleet_figures(options.runs)}


def external_part(options: argparse.Namespace) -> Results:
    """Tables of a database that others write."""
    return {"external": external_figures(options.rows, options.runs)}


def nexmark_part(options: argparse.Namespace) -> Results:
    """NEXMark's queries, with their answers checked."""
    return {
        "nexmark": nexmark_figures(options.only, options.events or NEXMARK_EVENTS, options.runs)
    }


def archive_part(options: argparse.Namespace) -> Results:
    """The archive, back-tests, and DuckDB beside them."""
    prepare_spark_environment()
    rows = archive_figures(options.events or ARCHIVED_EVENTS, options.runs)
    close_slices()
    return {"archive": rows}


def archive_appends_part(options: argparse.Namespace) -> Results:
    """Small appends to a table of the archive: processor time of each."""
    return {"archive-appends": archive_appends_figures(options.runs)}


def archive_volume_part(options: argparse.Namespace) -> Results:
    """An archive of many rows: speed and memory of who writes and who asks."""
    return {"archive-volume": archive_volume_figures(options.events or ARCHIVED_ROWS)}


def pages_part(options: argparse.Namespace) -> Results:
    """How soon a page of the console shows something."""
    return {"pages": pages_figures()}


def charts_part(options: argparse.Namespace) -> Results:
    """Live charts in a real browser."""
    return {"charts": [charts_figures(options.rate, options.seconds)]}


def editing_part(_: argparse.Namespace) -> Results:
    """How long an editor waits for completion."""
    return {"editing": [editing_figures()]}


def mappers_part(options: argparse.Namespace) -> Results:
    """How fast forms of messages are read and written."""
    return {"mappers": mappers_figures(options.only)}


def tracing_part(options: argparse.Namespace) -> Results:
    """What it costs that one send in a hundred is traced."""
    return {"tracing": tracing_figures(2 * options.runs, keep=options.keep)}


def beside_part(
    name: str,
    figures: Callable[[str, int, int], list[Row]],
    missing: type[Exception],
    options: argparse.Namespace,
) -> Results:
    """The engine beside another one, where that can be had."""
    try:
        return {name: figures(options.only, options.runs, options.events or EVENTS)}
    except missing as error:
        if options.part == name:
            sys.exit(str(error))
        print(f"not measured beside {name}: {error}")
        return {}


PARTS: dict[str, Callable[[argparse.Namespace], Results]] = {
    "engine": engine_part,
    "suite": suite_part,
    "volume": volume_part,
    "many": many_part,
    "limits": limits_part,
    "fleet": fleet_part,
    "ahead": ahead_part,
    "external": external_part,
    "nexmark": nexmark_part,
    "archive": archive_part,
    "archive-appends": archive_appends_part,
    "archive-volume": archive_volume_part,
    "editing": editing_part,
    "mappers": mappers_part,
    "charts": charts_part,
    "pages": pages_part,
    "tracing": tracing_part,
    "siddhi": partial(beside_part, "siddhi", siddhi_figures, NoSiddhiError),
    "flink": partial(beside_part, "flink", flink_figures, NoFlinkError),
    "bytewax": partial(beside_part, "bytewax", bytewax_figures, NoBytewaxError),
}


def remember(found: Results) -> None:
    """Into results.json, row by row: what was not measured this time stays."""
    known: Results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part, rows in found.items():
        if isinstance(rows, list):
            old = {row["name"]: row for row in known.get(part, [])}
            known[part] = list({**old, **{row["name"]: row for row in rows}}.values())
        else:
            known[part] = rows
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    print(f"\nwritten to {RESULTS}")


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--runs", type=int, default=5, help="of each engine figure")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of sustained load on the suite"
    )
    parser.add_argument(
        "--events",
        type=events_of,
        help="volume: 10m; nexmark: 3m; archive-volume: 2m; siddhi, flink, bytewax: 1m",
    )
    parser.add_argument("--rate", type=events_of, default="100k", help="of the volume part, per s")
    parser.add_argument("--rows", type=events_of, default="1m", help="of the external part")
    parser.add_argument("--apps", type=int, default=1_000, help="of the many part")
    parser.add_argument(
        "--spare", action="store_true", help="many: two processors, one of which is killed"
    )
    parser.add_argument("--bus", default="nats", help="suite: of nats, kafka, nats+tls")
    parser.add_argument("--keep", action="store_true", help="keep the processes' logs")
    parser.add_argument("--keep-as", metavar="NAME", help="the results, too, in results/NAME.json")
    options = parser.parse_args()
    measured: Results = {}
    for name, part in PARTS.items():
        if options.part in (name, "all"):
            found = {"numpy_ms": round(1000 * numpy_seconds(), 1), **part(options)}
            remember(found)
            measured |= found
    if options.keep_as:
        print(f"kept in {keep(options.keep_as, measured, shlex.join(sys.argv[1:]))}")


if __name__ == "__main__":
    main()
