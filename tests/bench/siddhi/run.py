"""Each query of the bench on both engines, in turns, with the same events, in one run.

Siddhi gets its events as objects that were made before the clock runs, one at a time as in our log,
and in another turn 1,000 in one call; the better of the two counts. In a third turn, sent in the
way that was better when it warmed up, it makes them of bytes within the time, in the plainest form
that there is. Ours gets the log's bytes and decodes them within the time. How many rows came has to
be the same where events were sent one by one.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from lockstep.embedded import prepare_spark_environment
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import in_columns
from lockstep.execute.spark import SparkExecutor, close_slices
from lockstep.siddhiql import check
from tests.bench.nexmark.generator import ROUND_EVENTS, rounds
from tests.bench.nexmark.run import queries
from tests.bench.nexmark.run import slices_of as nexmark_slices
from tests.bench.queries import BENCHES, QUOTES, TRADES, Bench
from tests.bench.shared import APPS
from tests.bench.siddhi.engine import (
    NotInSiddhiError,
    Siddhi,
    Taken,
    compile_driver,
    siddhi,
)
from tests.bench.workload import RECORD_EVENTS, Log, numpy_seconds, owned, run_all, slices_of

TOGETHER: Final = 1_000
SLICE_EVENTS: Final = 500_000
LIMITS_EVENTS: Final = 1_000
OUT: Final = "Out"
LOCKSTEP, ONE_BY_ONE, THOUSANDS = "lockstep", "siddhi", "siddhi, 1,000 together"
OBJECTS: Final = {ONE_BY_ONE: 1, THOUSANDS: TOGETHER}
"""Ways to send, with the number of events in a call."""
FROM_BYTES: Final = "siddhi, from bytes"

Row = dict[str, Any]
Slices = Sequence[Sequence[EncodedEntry]]
Turn = dict[str, Taken]


@dataclass(frozen=True, slots=True)
class Both:
    """One app on both engines."""

    own: SparkExecutor
    other: Siddhi

    def turn(self, slices: Slices, together: int, *, decodes: bool = False) -> tuple[Taken, Taken]:
        """The same events on one, then on the other."""
        return self._folded(slices), sent(self.other, slices, together, decodes=decodes)

    def _folded(self, slices: Slices) -> Taken:
        rows = 0
        begun = time.perf_counter()
        for result in run_all(self.own, slices):
            parts = in_columns(result.rows).columns
            rows += sum(part.batch.num_rows for part in parts if part.stream == OUT)
        return Taken(time.perf_counter() - begun, rows)


def sent(other: Siddhi, slices: Slices, together: int, *, decodes: bool = False) -> Taken:
    """All events to Siddhi."""
    entries = [entry for each in slices for entry in each]
    return other.send(entries, together, decodes=decodes)


@contextmanager
def both(text: str, other: Siddhi) -> Iterator[Both]:
    """They run within the block. NotInSiddhiError."""
    other.open(text)
    own = owned(text)
    try:
        yield Both(own, other)
    finally:
        own.close()
        other.close()


def going_on(bench: Bench, other: Siddhi, *, runs: int, events: int) -> list[Turn]:
    """Turns over one log that goes on, after one to warm up."""
    names = ("Trade", "Quote") if bench.two_streams else ("Trade",)
    schemas = check(bench.text).streams
    log = Log([schemas[name] for name in names])
    size = bench.record_events

    def taken() -> Slices:
        return slices_of(log.take(events, size), SLICE_EVENTS // size)

    with both(bench.text, other) as pair:
        if bench.limits:
            pair.turn([Log([schemas["Quote"]], seed=2).take(LIMITS_EVENTS)], 1)
            log.take(RECORD_EVENTS)  # its position is taken
        warm = _turned(pair, taken, 1)
        return [_turned(pair, taken, _better(warm)) for _ in range(runs)]


def _turned(pair: Both, taken: Callable[[], Slices], bytes_together: int) -> Turn:
    own, alone = pair.turn(taken(), 1)
    _, thousands = pair.turn(taken(), TOGETHER)
    _, of_bytes = pair.turn(taken(), bytes_together, decodes=True)
    return {LOCKSTEP: own, ONE_BY_ONE: alone, THOUSANDS: thousands, FROM_BYTES: of_bytes}


def _better(warm: Turn) -> int:
    """How many events in a call Siddhi took faster."""
    return OBJECTS[min(OBJECTS, key=lambda way: warm[way].seconds)]


def anew(text: str, slices: Slices, other: Siddhi, *, runs: int) -> list[Turn]:
    """Turns over the same log, each on a fresh state, after one to warm up."""

    def turned(bytes_together: int) -> Turn:
        with both(text, other) as pair:
            own, alone = pair.turn(slices, 1)
        found = {LOCKSTEP: own, ONE_BY_ONE: alone}
        for way, together in ((THOUSANDS, TOGETHER), (FROM_BYTES, bytes_together)):
            other.open(text)
            found[way] = sent(other, slices, together, decodes=way == FROM_BYTES)
            other.close()
        return found

    warm = turned(1)
    return [turned(_better(warm)) for _ in range(runs)]


def row_of(name: str, turns: Sequence[Turn], events: int) -> Row:
    """Medians, and the worst of ours against the best of theirs. Pure but for the NumPy work."""
    rates = {
        engine: [round(events / turn[engine].seconds) for turn in turns]
        for engine in (LOCKSTEP, *OBJECTS, FROM_BYTES)
    }
    objects = max((rates[way] for way in OBJECTS), key=statistics.median)
    of_bytes = rates[FROM_BYTES]
    ours = statistics.median(rates[LOCKSTEP])
    return {
        "name": name,
        "events_per_second": round(ours),
        "siddhi_events_per_second": round(statistics.median(objects)),
        "siddhi_from_bytes_events_per_second": round(statistics.median(of_bytes)),
        "ratio": round(ours / statistics.median(objects), 2),
        "worst_ratio": round(min(rates[LOCKSTEP]) / max(objects), 2),
        "ratio_from_bytes": round(ours / statistics.median(of_bytes), 2),
        "worst_ratio_from_bytes": round(min(rates[LOCKSTEP]) / max(of_bytes), 2),
        "rows": turns[-1][LOCKSTEP].rows,
        "differing_turns": sum(turn[LOCKSTEP].rows != turn[ONE_BY_ONE].rows for turn in turns),
        "runs": rates,
        "numpy_ms": round(1000 * numpy_seconds(), 1),
    }


def _cases(runs: int, events: int) -> dict[str, Callable[[Siddhi], list[Turn]]]:
    """What measures each query, by name. NEXMark's events are drawn when one of its is asked."""
    shared = [
        Bench(name, f"{TRADES}{QUOTES}{text}", 0.0, two_streams=True, record_events=2_000)
        for name, text in APPS.items()
        if "unique:" not in text
    ]
    found: dict[str, Callable[[Siddhi], list[Turn]]] = {
        bench.name: partial(going_on, bench, runs=runs, events=events)
        for bench in (*BENCHES, *shared)
    }

    @cache
    def drawn() -> Slices:
        return nexmark_slices(list(rounds(events // ROUND_EVENTS)))

    for query in queries():
        found[f"NEXMark {query.name}"] = partial(_nexmark, query.text, drawn, runs)
    return found


def _nexmark(text: str, drawn: Callable[[], Slices], runs: int, other: Siddhi) -> list[Turn]:
    return anew(text, drawn(), other, runs=runs)


def siddhi_figures(only: str, runs: int, events: int) -> list[Row]:
    """A row for each query that both can say; of the others the reason is printed."""
    prepare_spark_environment()
    print(
        f"{'':40}{'lockstep':>12}{'siddhi':>12}{'ratio':>8}{'worst':>8}"
        f"{'from bytes':>12}{'ratio':>8}{'worst':>8}{'rows':>12}  differing"
    )
    found = []
    wanted = {name: case for name, case in _cases(runs, events).items() if only in name}
    with tempfile.TemporaryDirectory() as classes:
        compile_driver(Path(classes))
        for name, measure in wanted.items():
            with tempfile.TemporaryDirectory() as folder:
                row = _row(name, measure, events, Path(classes), Path(folder))
            if row is not None:
                found.append(row)
    close_slices()
    return found


def _row(
    name: str, measure: Callable[[Siddhi], list[Turn]], events: int, classes: Path, folder: Path
) -> Row | None:
    """Printed; None where Siddhi does not take the query."""
    with siddhi(classes, folder) as other:
        try:
            row = row_of(name, measure(other), events)
        except NotInSiddhiError as error:
            print(f"{name:40}{str(error)[:120]}", flush=True)
            return None
    print(
        f"{name:40}{row['events_per_second']:12,}{row['siddhi_events_per_second']:12,}"
        f"{row['ratio']:8}{row['worst_ratio']:8}{row['siddhi_from_bytes_events_per_second']:12,}"
        f"{row['ratio_from_bytes']:8}{row['worst_ratio_from_bytes']:8}{row['rows']:12,}"
        f"  {row['differing_turns']}",
        flush=True,
    )
    return row
