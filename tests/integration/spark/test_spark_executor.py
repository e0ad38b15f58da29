"""The Spark executor against the reference: same rows, whatever happens to the worker in
between."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from lockstep.events import LogEntry, WriteRecord
from lockstep.execute.columnar import lowering_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkOptions, open_slices, spark_plan
from lockstep.execute.spark.company import SparkFailedError, Task
from lockstep.execute.spark.slots import Use
from lockstep.operators.errors import SnapshotError
from lockstep.plan import build, plan_of
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.testing import VirtualApp
from tests.integration.spark.apps import COLUMNAR, MIXED, UNFIT, cut, log, rows_of, unfit_log
from tests.integration.spark.conftest import Make


def test_the_mixed_app_has_a_query_on_the_reference() -> None:
    """For want of a rule; and it brings rows, which the tests below compare."""
    choices = lowering_of(build(check(MIXED))).choices
    refused = {each.query: each.reason for each in choices if each.rule is None}
    assert refused["words"] == "a stream function behind a window"
    assert len(refused) < len(choices)
    assert all(each.rule for each in lowering_of(build(check(COLUMNAR))).choices)
    rows = rows_of(ReferenceExecutor(plan_of(MIXED)), [log(40)])
    assert {"Q", "W", "Z"} <= {row.stream for row in rows}


@pytest.mark.parametrize("text", [COLUMNAR, MIXED], ids=["columns", "mixed"])
def test_the_rows_of_the_reference(make: Make, text: str) -> None:
    """However the log is cut."""
    entries = log(40)
    expected = rows_of(ReferenceExecutor(plan_of(text)), [entries])
    assert rows_of(make(text), cut(entries, 7)) == expected
    assert rows_of(make(text), [entries]) == expected


@pytest.mark.parametrize("text", [COLUMNAR, MIXED], ids=["columns", "mixed"])
def test_a_killed_worker_changes_nothing(make: Make, text: str) -> None:
    """The worker's process is killed between slices, twice: the next one starts from the base."""
    entries = log(60)
    expected = rows_of(ReferenceExecutor(plan_of(text)), [entries])
    executor = make(text)
    rows = rows_of(executor, cut(entries[:20], 5))
    os.kill(executor.locations[0].pid, signal.SIGKILL)
    rows += rows_of(executor, cut(entries[20:40], 5))
    executor.snapshot()
    os.kill(executor.locations[0].pid, signal.SIGKILL)
    rows += rows_of(executor, cut(entries[40:], 5))
    assert rows == expected
    assert executor.rebuilds == 2


def test_snapshots_go_from_one_executor_to_the_other(make: Make) -> None:
    """Reference to Spark and back, in columns and not."""
    entries = log(60)
    expected = rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])
    first = ReferenceExecutor(plan_of(COLUMNAR))
    rows = rows_of(first, [entries[:15]])
    second = make(COLUMNAR)
    second.restore(first.snapshot())
    rows += rows_of(second, [entries[15:30]])
    third = make(COLUMNAR, columnar=False)
    third.restore(second.snapshot())
    rows += rows_of(third, [entries[30:45]])
    last = ReferenceExecutor(plan_of(COLUMNAR))
    last.restore(third.snapshot())
    rows += rows_of(last, [entries[45:]])
    assert rows == expected


def test_on_demand_reads_and_writes(make: Make) -> None:
    """A write between events gives the reference's rows and outcome; the worker's death no harm."""
    executor, reference = make(COLUMNAR), ReferenceExecutor(plan_of(COLUMNAR))
    assert rows_of(executor, [log(10)]) == rows_of(reference, [log(10)])
    before = sorted(executor.on_demand("from T select s, t"))
    assert [name for name, _ in before] == ["a", "b", "c"]
    entries = log(20)[10:]
    write = WriteRecord("select 'z' as s, 7L as t insert into T;", "one", 0)
    refused = WriteRecord("select 'y' as s insert into T;", "two", 0)
    entries[3:6] = [
        LogEntry(entries[3].position, write),
        LogEntry(entries[4].position, refused),
        LogEntry(entries[5].position, write),
    ]
    result, expected = executor.run_slice(entries), reference.run_slice(entries)
    assert list(result.rows) == list(expected.rows)
    assert result.writes == expected.writes
    assert [outcome.rows_changed for outcome in result.writes] == [1, 0, 1]
    assert result.writes[0] == result.writes[2]
    before = sorted(reference.on_demand("from T select s, t"))
    assert ("z", 7) in before
    os.kill(executor.locations[0].pid, signal.SIGKILL)
    assert sorted(executor.on_demand("from T select s, t")) == before
    with pytest.raises(SiddhiQLError, match="input log"):
        executor.on_demand("delete T on T.s == 'z'")


def test_what_the_user_got_wrong_is_told(make: Make) -> None:
    """An invalid app, an invalid on-demand query, a snapshot of something else."""
    with pytest.raises(SiddhiQLError):
        make("from Nothing select a insert into O;")
    executor = make(COLUMNAR)
    with pytest.raises(SiddhiQLError, match="Nowhere"):
        executor.on_demand("from Nowhere select x")
    with pytest.raises(SnapshotError):
        executor.restore(b"no snapshot")
    other = ReferenceExecutor(plan_of("define stream S (a int); from S select a insert into O;"))
    with pytest.raises(SnapshotError):
        executor.restore(other.snapshot())
    assert rows_of(executor, [log(3)]) == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [log(3)])


def test_values_without_columns_go_to_the_reference(make: Make) -> None:
    """A null where an attribute is the clock: the event is refused, as by the reference."""
    entries = unfit_log()
    reference, spark = ReferenceExecutor(plan_of(UNFIT)), make(UNFIT)
    for each in cut(entries, 3):
        expected, brought = reference.run_slice(each), spark.run_slice(each)
        assert (list(brought.rows), brought.faults) == (list(expected.rows), expected.faults)


def test_large_slices_travel_in_shared_memory(make: Make) -> None:
    """More than a message takes, in and out."""
    entries = log(6, per_record=20_000)
    expected = rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])
    assert rows_of(make(COLUMNAR), [entries]) == expected


def test_virtual_app_switches_playback(spark_env: None) -> None:
    """As on the reference."""
    text = "define stream S (v int); from S#window.time(1 sec) select sum(v) as t insert into O;"
    brought = []
    for executor in ("reference", "spark"):
        with VirtualApp(text, executor=executor, start_ms=1000) as app:
            app.send("S", [1])
            app.enable_playback(True)
            app.send("S", [2], timestamp_ms=5000)
            app.send("S", [3], timestamp_ms=5500)
            brought.append(app.stream("O"))
    assert brought[0] == brought[1]


def test_a_job_that_fails_is_an_error_that_can_be_retried(spark_env: None) -> None:
    """What Spark reports comes as ours."""

    def fail(payloads: Iterable[bytes]) -> Iterator[bytes]:
        raise ValueError(list(payloads))

    with pytest.raises(SparkFailedError) as raised:
        open_slices(SparkOptions()).run(fail, [Task(0, b"")])
    assert raised.value.retryable


@pytest.mark.usefixtures("spark_env")
def test_the_jvm_has_no_thread_for_each_thread_that_folds() -> None:
    """A processor folds in as many threads as apps are at work; they share those that call the
    JVM."""
    slots = open_slices(SparkOptions()).most(Use("any"))
    folding = [ThreadPoolExecutor(1) for _ in range(3 * slots)]

    def job() -> list[bytes]:
        return open_slices(SparkOptions()).run(iter, [Task(0, b"a")])

    before = _gateway_threads()
    for thread in folding:
        assert thread.submit(job).result() == [b"a"]
    assert _gateway_threads() <= before + slots + 1
    for thread in folding:
        thread.shutdown()


def _gateway_threads() -> int:
    """Threads of the JVM that serve a connection of ours: it gives them no other name."""
    gateway: Any = SparkContext._gateway
    names = Path(f"/proc/{gateway.proc.pid}/task").glob("*/comm")
    return sum(name.read_text().startswith("Thread-") for name in names)


def test_spark_starts_again_when_its_jvm_died(make: Make) -> None:
    """The fold fails with an error that can be tried again, and a new executor goes on from a
    snapshot."""
    entries = log(20)
    first = make(COLUMNAR)
    rows = rows_of(first, [entries[:10]])
    snapshot = first.snapshot()
    gateway: Any = SparkContext._gateway
    gateway.proc.kill()
    gateway.proc.wait()
    with pytest.raises(SparkFailedError):
        first.run_slice(entries[10:])
    second = make(COLUMNAR)
    second.restore(snapshot)
    rows += rows_of(second, [entries[10:]])
    assert rows == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])


def test_slices_that_come_one_after_the_other_share_a_job(make: Make) -> None:
    """Spark has begun one at most, and the rows are the reference's."""
    entries = log(60)
    executor = make(COLUMNAR)
    tracker = open_slices(SparkOptions()).context.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    rows = rows_of(executor, cut(entries, 1))
    assert len(tracker.getJobIdsForGroup(None)) <= before + 1
    assert rows == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])


@pytest.mark.usefixtures("spark_env")
def test_spark_tells_its_plan() -> None:
    """A slice's job is one Python stage over one partition, whatever the app."""
    told = spark_plan(open_slices(SparkOptions())).splitlines()
    assert len(told) == 2
    assert told[0].startswith("(1) PythonRDD")
