"""What runs beside other engines share: a turn of ours, and the figures of some turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lockstep.events import StreamSchema
from lockstep.events.codec import EncodedEntry
from lockstep.plan import plan_of
from tests.bench.nexmark.generator import ROUND_EVENTS, SCHEMA, Round, rounds
from tests.bench.nexmark.run import Answer, Judge, Query, folded, slices_of
from tests.bench.workload import owned

BETWEEN: Final = "\x1f"
"""Stands between the values of a row in a file of answers: no text of NEXMark has it."""

ROUND_MS: Final = 40
"""25,000 events a second: half a million fill two windows of ten seconds."""

Slices = Sequence[Sequence[EncodedEntry]]
Rates = Mapping[str, Sequence[float]]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Events:
    """The same events in the forms that are needed."""

    found: Sequence[Round]
    slices: Slices
    judge: Judge
    schemas: Sequence[StreamSchema]

    @property
    def count(self) -> int:
        """Of all streams."""
        return len(self.found) * ROUND_EVENTS

    @property
    def last_ms(self) -> int:
        """When the last one happened."""
        return self.found[-1].time_ms


def events_of(count: int) -> Events:
    """So many, in whole rounds."""
    plan = plan_of(f"@app:name('Schema')\n{SCHEMA}from Bid select auction insert into Out;")
    schemas = [plan.schemas[name] for name in ("Person", "Auction", "Bid")]
    found = list(rounds(count // ROUND_EVENTS, round_ms=ROUND_MS))
    return Events(found, slices_of(found), Judge(found), schemas)


def own_seconds(text: str, slices: Slices) -> float:
    """Wall seconds of folding all slices on a fresh state, on Spark."""
    executor = owned(text)
    try:
        begun = time.perf_counter()
        for part in folded(executor, slices):
            part.batch.num_rows  # noqa: B018  # the columns are there then
        return time.perf_counter() - begun
    finally:
        executor.close()


def rates_of(turns: Sequence[Mapping[str, float]], events: int) -> dict[str, list[int]]:
    """Events per second of each engine, turn by turn, from what the turns took in seconds."""
    return {name: [round(events / turn[name]) for turn in turns] for name in turns[0]}


def ratios(rates: Rates, ours: str, theirs: str) -> tuple[float, float]:
    """(that of the medians, our slowest turn over their fastest)."""
    medians = statistics.median(rates[ours]) / statistics.median(rates[theirs])
    return round(medians, 2), round(min(rates[ours]) / max(rates[theirs]), 2)


def standing(text: str, like: pa.Table) -> pa.Table:
    """Rows that another engine wrote, first the names of the columns, typed as those of `like`."""
    names, *lines = text.splitlines()
    columns = list(zip(*(line.split(BETWEEN) for line in lines), strict=True)) or [()] * len(
        like.schema
    )
    arrays = [
        pa.array(column, pa.string()).cast(_as_read(field.type))
        for column, field in zip(columns, like.schema, strict=True)
    ]
    return pa.table(arrays, names=names.split(BETWEEN))


def _as_read(kind: pa.DataType) -> pa.DataType:
    """DuckDB counts in 128 bits now and then; nobody here needs them."""
    return pa.float64() if pa.types.is_decimal(kind) else kind


def differences(query: Query, judge: Judge, text: str) -> tuple[int, int]:
    """(rows that stand in the answer, rows that are missing or too many)."""
    _, wanted = judge.seconds_and_rows(query)
    given = standing(text, wanted)
    return len(given), judge.differences(query, wanted, Answer(given))
