"""The log that is folded, and a fixed piece of NumPy work that tells how fast the machine is
now."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lockstep.events import StreamSchema
from lockstep.events.codec import EncodedEntry, Index, encode_batch
from lockstep.execute.contract import Executor, LooksAhead, SliceResult
from lockstep.execute.spark import SparkExecutor
from lockstep.plan import plan_of
from lockstep.settings import load_settings

SYMBOLS = 100
EVENTS_PER_MS = 10
RECORD_EVENTS = 20_000
Slices = Sequence[Sequence[EncodedEntry]]

_NAMES = pa.array([f"SYM{number:03d}" for number in range(SYMBOLS)])


class Log:
    """An endless log of single-event chunks in event time, `EVENTS_PER_MS` events a millisecond."""

    def __init__(self, schemas: Sequence[StreamSchema], seed: int = 1) -> None:
        self._schemas = schemas
        self._random = np.random.default_rng(seed)
        self._position = 0
        self._count = 0

    def take(
        self, events: int, record_events: int = RECORD_EVENTS, index: Index | None = None
    ) -> list[EncodedEntry]:
        """The next events, streams taking turns record by record; `index`: see the codec."""
        entries = []
        for at in range(0, events, record_events):
            schema = self._schemas[self._position % len(self._schemas)]
            entries.append(self._record(schema, min(record_events, events - at), index))
        return entries

    def _record(self, schema: StreamSchema, count: int, index: Index | None) -> EncodedEntry:
        random = self._random
        times = 1_600_000_000_000 + (self._count + np.arange(count)) // EVENTS_PER_MS
        columns = [
            _NAMES.take(pa.array(random.integers(0, SYMBOLS, count))),
            pa.array(random.random(count) * 100),
            pa.array(random.integers(1, 1000, count)),
        ]
        batch = pa.RecordBatch.from_arrays(columns, names=list(schema.names))
        self._count += count
        self._position += 1
        ones = np.ones(count, np.int32)
        stamps = pa.array(times)
        payload = encode_batch(
            schema, batch, ones, int(times[-1]), timestamps_ms=stamps, index=index
        )
        return EncodedEntry(self._position, payload)


def owned(text: str) -> SparkExecutor:
    """An executor as a processor has it: the owner keeps snapshots and the log. By itself it would
    take snapshots between slices, which stops a large state for a second, again and again."""
    settings = load_settings({})
    return SparkExecutor(plan_of(text), base_max_bytes=settings.processor.rebuild_max_bytes)


def run_all(executor: Executor, slices: Slices, *, announced: bool = True) -> Iterator[SliceResult]:
    """Folds slices as a processor that is behind its log does: it says what comes next, unless
    that is not to be `announced`."""
    looking = executor if announced and isinstance(executor, LooksAhead) else None
    for each, following in zip(slices, [*slices[1:], ()], strict=True):
        if looking is not None:
            looking.expect(following)
        yield executor.run_encoded(each)


def seconds_of(executor: Executor, slices: Slices, *, announced: bool = True) -> tuple[float, int]:
    """(wall seconds, rows) of folding slices; rows are counted as columns."""
    rows = 0
    begun = time.perf_counter()
    for result in run_all(executor, slices, announced=announced):
        rows += len(result.rows)
    return time.perf_counter() - begun, rows


def slices_of(entries: Sequence[EncodedEntry], records: int) -> list[Sequence[EncodedEntry]]:
    """Slices of so many records."""
    return [entries[at : at + records] for at in range(0, len(entries), records)]


def numpy_seconds(repeats: int = 5) -> float:
    """How long the fixed work takes now: a sort, a gather, a running sum of two million doubles."""
    values = np.random.default_rng(7).random(2_000_000)
    took = []
    for _ in range(repeats):
        begun = time.perf_counter()
        order = np.argsort(values)
        float(np.cumsum(values[order])[-1])
        took.append(time.perf_counter() - begun)
    return statistics.median(took)
