"""Apps cut by partition key over several Spark tasks: any number of them brings the same."""

from __future__ import annotations

import os
import signal

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, WriteRecord
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from tests.integration.spark.apps import COLUMNAR, KEYED, cut, log, rows_of
from tests.integration.spark.conftest import Make


@pytest.mark.parametrize("shards", [2, 3])
def test_the_rows_of_the_reference(make: Make, shards: int) -> None:
    """In identity and order, over snapshots that go to another number of shards."""
    entries = log(60)
    expected = rows_of(ReferenceExecutor(plan_of(KEYED)), [entries])
    first = make(KEYED, shards=shards)
    assert len({location.pid for location in first.locations}) == shards
    rows = rows_of(first, cut(entries[:30], 6))
    second = make(KEYED, shards=5 - shards)
    second.restore(first.snapshot())
    rows += rows_of(second, cut(entries[30:50], 6))
    last = ReferenceExecutor(plan_of(KEYED))
    last.restore(second.snapshot())
    assert rows + rows_of(last, [entries[50:]]) == expected


def test_a_killed_worker_changes_nothing(make: Make) -> None:
    """One shard's worker dies; it is rebuilt, with the base and with a snapshot of its own."""
    entries = log(60)
    executor = make(KEYED, shards=2)
    rows = rows_of(executor, cut(entries[:20], 5))
    os.kill(executor.locations[1].pid, signal.SIGKILL)
    rows += rows_of(executor, cut(entries[20:40], 5))
    executor.snapshot()
    os.kill(executor.locations[0].pid, signal.SIGKILL)
    rows += rows_of(executor, cut(entries[40:], 5))
    assert rows == rows_of(ReferenceExecutor(plan_of(KEYED)), [entries])
    assert executor.rebuilds == 2


def test_reads_and_writes(make: Make) -> None:
    """Tables are in one place, whatever is cut; a write stands between the slices around it."""
    entries = log(20)
    write = WriteRecord("select 'z' as s, 7L as t insert into T;", "one", 0)
    entries[9] = LogEntry(entries[9].position, write)
    executor, reference = make(KEYED, shards=2), ReferenceExecutor(plan_of(KEYED))
    result, expected = executor.run_slice(entries), reference.run_slice(entries)
    assert list(result.rows) == list(expected.rows)
    assert result.writes == expected.writes
    question = "from T select s, t"
    assert sorted(executor.on_demand(question)) == sorted(reference.on_demand(question))


def test_values_without_columns_go_to_the_reference(make: Make) -> None:
    """All shards' states become one, and the rows go on."""
    text = (
        "define stream S (s string, t long); partition with (s of S) begin"
        " from S#window.externalTime(t, 1 sec) select s, count() as c insert into O; end;"
    )
    entries = [
        LogEntry(
            n,
            EventsRecord("S", n, ((InputEvent(n, ("abc"[n % 3], None if n == 8 else n)),),)),
        )
        for n in range(1, 15)
    ]
    executor, reference = make(text, shards=2), ReferenceExecutor(plan_of(text))
    executor.run_slice(entries[:3])
    reference.run_slice(entries[:3])
    executor.snapshot()
    for each in cut(entries[3:], 3):
        expected, brought = reference.run_slice(each), executor.run_slice(each)
        assert (list(brought.rows), brought.faults) == (list(expected.rows), expected.faults)
    assert len(executor.locations) == 1


def test_apps_without_partitions_stay_whole(make: Make) -> None:
    """There is nothing to cut."""
    executor = make(COLUMNAR, shards=3)
    assert len(executor.locations) == 1


def test_an_app_stays_in_as_many_tasks_as_it_may_have(make: Make) -> None:
    """Three executors of one name, in four shards each if they could: all of them in two workers,
    with the reference's rows. An app of another name has a worker that none of them uses."""
    text = f"@app:name('Greedy') {KEYED}"
    entries = log(30)
    expected = rows_of(ReferenceExecutor(plan_of(text)), [entries])
    greedy = [make(text, shards=4, tasks_max=2) for _ in range(3)]
    small = make(f"@app:name('Small') {KEYED}")
    taken = {location.pid for executor in greedy for location in executor.locations}
    assert len(taken) == 2
    assert {location.pid for location in small.locations}.isdisjoint(taken)
    for executor in greedy:
        assert len(executor.locations) == 2
        assert rows_of(executor, cut(entries, 5)) == expected
