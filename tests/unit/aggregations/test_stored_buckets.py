"""@store on an aggregation: finished buckets become rows of the outputs, by granularity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import (
    EventsRecord,
    InputEvent,
    InputRecord,
    LogEntry,
    Operation,
    OutputRow,
    TickRecord,
)
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.local import LocalExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import build, plan_of
from lockstep.siddhiql import SiddhiQLError, check

STORE = "@store(type='rdbms', jdbc.url='jdbc:postgresql://none/x', table.name='kept')"
STREAM = "define stream S (k string, v int, at long);"
AGGREGATION = (
    "define aggregation Sums from S select k, sum(v) as total, avg(v) as mean, count() as n, "
    "min(v) as low, distinctCount(v) as d, v as latest group by k "
    "aggregate by at every sec, min;"
)
APP = f"{STREAM}{STORE}{AGGREGATION} from S select k insert into O;"


def entries(*chunks: Sequence[tuple[str | None, int, int]]) -> list[LogEntry]:
    """A log of one chunk per record."""
    made: list[InputRecord] = []
    for chunk in chunks:
        events = tuple(InputEvent(0, row) for row in chunk)
        made.append(EventsRecord("S", 0, (events,)))
    return [LogEntry(n, record) for n, record in enumerate(made, start=1)]


def changes(rows: Sequence[OutputRow], name: str) -> list[tuple[Any, ...]]:
    """The changes of a table: (position, operation, values)."""
    return [(r.id.position, r.operation.name, r.data) for r in rows if r.stream == name]


LOG = entries(
    [("a", 1, 1000), ("a", 3, 1500), ("b", 5, 1999)],
    [("a", 7, 2000)],
    [("b", 9, 1100)],
    [("a", 2, 61_000), ("b", 4, 61_500)],
    [("a", 6, 2500)],
    [("a", 8, 121_000)],
)
SECONDS = [
    (2, "UPSERT", (1000, "a", 1000, 1500, 4, 2, 1, 2, 3)),
    (2, "UPSERT", (1000, "b", 1000, 1999, 5, 1, 5, 1, 5)),
    (3, "UPSERT", (1000, "b", 1000, 1999, 14, 2, 5, 2, 5)),
    (4, "UPSERT", (2000, "a", 2000, 2000, 7, 1, 7, 1, 7)),
    (5, "UPSERT", (2000, "a", 2000, 2500, 13, 2, 6, 2, 6)),
    (6, "UPSERT", (61000, "a", 61000, 61000, 2, 1, 2, 1, 2)),
    (6, "UPSERT", (61000, "b", 61000, 61500, 4, 1, 4, 1, 4)),
]
MINUTES = [
    (4, "UPSERT", (0, "a", 0, 2000, 11, 3, 1, 3, 7)),
    (4, "UPSERT", (0, "b", 0, 1999, 14, 2, 5, 2, 5)),
    (5, "UPSERT", (0, "a", 0, 2500, 17, 4, 1, 4, 6)),
    (6, "UPSERT", (60000, "a", 60000, 61000, 2, 1, 2, 1, 2)),
    (6, "UPSERT", (60000, "b", 60000, 61500, 4, 1, 4, 1, 4)),
]


def executors(text: str = APP) -> tuple[LocalExecutor, LocalExecutor]:
    """The same app on both executors."""
    plan = build(check(text))
    return ReferenceExecutor(plan), ColumnarExecutor(plan)


def test_columns_and_tables() -> None:
    """A table per granularity with its key and its name in the store."""
    checked = check(APP)
    table = checked.bucket_tables["Sums_SECONDS"]
    assert list(checked.bucket_tables) == ["Sums_SECONDS", "Sums_MINUTES"]
    assert [(a.name, a.type.value) for a in table.attributes] == [
        ("AGG_TIMESTAMP", "long"),
        ("k", "string"),
        ("AGG_EVENT_TIMESTAMP", "long"),
        ("AGG_LAST_EVENT_TIMESTAMP", "long"),
        ("AGG_SUM_v", "long"),
        ("AGG_COUNT", "long"),
        ("AGG_MIN_v", "int"),
        ("AGG_DISTINCTCOUNT_v", "long"),
        ("latest", "int"),
    ]
    store, key = table.annotations
    assert store.get("table.name") == "kept_SECONDS"
    assert key.positional == ("AGG_TIMESTAMP", "k")
    assert build(checked).stored == ("Sums_SECONDS", "Sums_MINUTES")


@pytest.mark.parametrize("length", [1, 2, 6])
def test_finished_buckets_are_written(length: int) -> None:
    """When the next one begins, and again for late events; the open ones are not. However cut."""
    for executor in executors():
        rows: list[OutputRow] = []
        for at in range(0, len(LOG), length):
            rows += executor.run_slice(LOG[at : at + length]).rows
        assert changes(rows, "Sums_SECONDS") == SECONDS
        assert changes(rows, "Sums_MINUTES") == MINUTES


@pytest.mark.parametrize("cut", range(1, len(LOG)))
def test_a_restored_aggregation_writes_the_rest(cut: int) -> None:
    """What was not written yet is part of the state."""
    for first, second in (executors(), executors()[::-1]):
        rows = list(first.run_slice(LOG[:cut]).rows)
        second.restore(first.snapshot())
        rows += second.run_slice(LOG[cut:]).rows
        assert changes(rows, "Sums_SECONDS") == SECONDS
        assert changes(rows, "Sums_MINUTES") == MINUTES


def test_purging_deletes_what_was_written() -> None:
    """The rows of purged buckets leave the store; an open bucket was never there."""
    purge = "@purge(enable='true', interval='10 sec', @retentionPeriod(sec='120 sec', min='all'))"
    text = APP.replace("define aggregation", f"{purge} define aggregation")
    log = [*LOG[:4], LogEntry(5, TickRecord(131_000))]
    for executor in executors(text):
        rows = executor.run_slice(log).rows
        gone = [row for row in rows if row.operation is Operation.DELETE]
        assert [(row.stream, row.data[:2]) for row in gone] == [
            ("Sums_SECONDS", (1000, "a")),
            ("Sums_SECONDS", (1000, "b")),
            ("Sums_SECONDS", (2000, "a")),
        ]


def test_shards() -> None:
    """@PartitionById: who writes is a column and part of the key."""
    sharded = APP.replace("define aggregation", "@PartitionById(enable='true') define aggregation")
    text = f"@app:shardId('node-1') {sharded}"
    table = check(text).bucket_tables["Sums_SECONDS"]
    assert table.annotations[1].positional == ("AGG_TIMESTAMP", "SHARD_ID", "k")
    rows = ReferenceExecutor(plan_of(text)).run_slice(LOG[:2]).rows
    stored = [row.data[:3] for row in rows if row.stream == "Sums_SECONDS"]
    assert stored == [(1000, "node-1", "a"), (1000, "node-1", "b")]
    off = APP.replace("define aggregation", "@PartitionById(enable='false') define aggregation")
    assert check(off).bucket_tables == check(APP).bucket_tables


def test_nulls_in_keys() -> None:
    """A null text is the text 'null'; a bucket whose key would be a null number is not stored."""
    rows = (
        ReferenceExecutor(plan_of(APP)).run_slice(entries([(None, 1, 1000)], [("a", 1, 5000)])).rows
    )
    assert [row.data[:2] for row in rows if row.stream == "Sums_SECONDS"] == [(1000, "null")]
    by_number = APP.replace("group by k", "group by v")
    log = entries([("a", 1, 1000), ("a", None, 1000)], [("a", 1, 5000)])  # type: ignore[list-item]
    rows = ReferenceExecutor(plan_of(by_number)).run_slice(log).rows
    assert [row.data[:2] for row in rows if row.stream == "Sums_SECONDS"] == [(1000, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{STREAM} define table Sums_MINUTES (k string); {STORE}{AGGREGATION}", "Sums_MINUTES"),
        (f"{STREAM}{STORE}{AGGREGATION.replace('v as latest', 'v + 1 as AGG_COUNT')}", "AGG_COUNT"),
        (f"{STREAM}{STORE}{AGGREGATION.replace('select k,', 'select v as k,')}", "'k'"),
    ],
)
def test_names_that_are_taken(text: str, message: str) -> None:
    """Refused with a place and a hint."""
    with pytest.raises(SiddhiQLError, match=message) as refused:
        check(text)
    assert refused.value.column > 1
    assert refused.value.hint
