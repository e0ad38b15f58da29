"""What comes out of the suite: when each event's row stands in the output log, and how often."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lockstep.bus import OutputLog
from lockstep.events import OutputRecord
from tests.bench.load import FIRST, Longs, Sent, comes_out

READ_RECORDS: Final = 256
READ_BYTES: Final = 16_777_216
READ_WAIT_MS: Final = 100
LARGE: Final = "Large"
NUMBER_COLUMN: Final = 2


@dataclass(slots=True)
class Arrivals:
    """Reads an output log to its end, again and again. `run` in one task."""

    log: OutputLog
    numbers: list[Longs] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    rows: int = 0

    async def run(self) -> None:
        """Until cancelled."""
        after = 0
        while True:
            entries = await self.log.read(
                after, max_records=READ_RECORDS, max_bytes=READ_BYTES, wait_ms=READ_WAIT_MS
            )
            now_s = time.monotonic()
            for entry in entries:
                after = entry.sequence
                if isinstance(entry.record, OutputRecord):
                    found = _numbers(entry.record.rows)
                    self.numbers.append(found)
                    self.times_s.append(now_s)
                    self.rows += len(found)

    def all_numbers(self) -> Longs:
        """Every number that came out, in the order of the log."""
        return np.concatenate([np.empty(0, np.int64), *self.numbers])


def _numbers(rows: Sequence[Any]) -> Longs:
    columns = getattr(rows, "columns", None)
    if columns is None:
        wanted = [row.data[NUMBER_COLUMN] for row in rows if row.stream == LARGE]
        return np.array(wanted, dtype=np.int64)
    parts = [
        part.batch.column(NUMBER_COLUMN).to_numpy() for part in columns if part.stream == LARGE
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


@dataclass(frozen=True, slots=True)
class Judged:
    """Latencies in milliseconds from when an event was due to be sent, and what is wrong."""

    p50_ms: float
    p99_ms: float
    max_ms: float
    rows: int
    lost: int
    duplicated: int


def judged(arrivals: Arrivals, sent: Sent, *, from_batch: int) -> Judged:
    """Latencies of the batches from `from_batch` on; lost and duplicated of all."""
    numbers = arrivals.all_numbers()
    counts = np.bincount(numbers - FIRST, minlength=sent.events)
    wanted = comes_out(np.arange(FIRST, FIRST + sent.events))
    per_record = [len(each) for each in arrivals.numbers]
    arrived_s = np.repeat(np.asarray(arrivals.times_s), per_record)
    batches = (numbers - FIRST) // sent.batch_events
    counted = batches >= from_batch
    due_s = np.asarray(sent.due_s)[batches[counted]]
    took_ms = 1000 * (arrived_s[counted] - due_s)
    p50, p99 = _quantiles(took_ms)
    return Judged(
        p50_ms=round(p50, 1),
        p99_ms=round(p99, 1),
        max_ms=round(float(took_ms.max(initial=0.0)), 1),
        rows=len(numbers),
        lost=int((wanted & (counts[: len(wanted)] == 0)).sum()),
        duplicated=int(counts.sum() - np.count_nonzero(counts))
        + int((~wanted & (counts[: len(wanted)] > 0)).sum()),
    )


def _quantiles(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    if not len(values):
        return float("nan"), float("nan")
    p50, p99 = np.quantile(values, [0.5, 0.99])
    return float(p50), float(p99)
