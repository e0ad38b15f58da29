"""The executor on a Spark standalone cluster of two workers: the rows of the reference, whatever
dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from lockstep.events import LogEntry
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import Rebuilt, SparkExecutor, SparkOptions, close_slices, open_slices
from lockstep.plan import plan_of
from tests.integration.spark.apps import COLUMNAR, KEYED, MIXED, cut, log, rows_of
from tests.integration.spark.standalone import EXECUTOR_MEMORY, QUICK_JVM, StandaloneCluster

# Six JVMs start and two are killed: seconds on an idle machine, minutes on a crowded one.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def options(spark_env: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkOptions]:
    """How to reach the cluster. A process has one Spark: the tests' local one is closed for it."""
    close_slices()
    directory: Path = tmp_path_factory.mktemp("cluster")
    with StandaloneCluster(directory) as cluster:
        yield SparkOptions(
            master=cluster.master,
            executor_memory=EXECUTOR_MEMORY,
            cluster_max_cores=2,
            settings=(
                ("spark.executor.extraJavaOptions", QUICK_JVM),
                # Spark tells of tasks when they begin and end, and not ten times a second.
                ("spark.ui.liveUpdate.period", "0"),
            ),
        )
        close_slices()


Make = Callable[..., SparkExecutor]


@pytest.fixture
def rebuilt() -> list[Rebuilt]:
    """What the executors told of states that were built again."""
    return []


@pytest.fixture
def make(options: SparkOptions, rebuilt: list[Rebuilt]) -> Iterator[Make]:
    """Makes executors that are closed after the test."""
    made: list[SparkExecutor] = []

    def make_executor(text: str, shards: int = 1, tasks_max: int | None = None) -> SparkExecutor:
        made.append(
            SparkExecutor(
                plan_of(text),
                shards=shards,
                options=options,
                on_rebuilt=rebuilt.append,
                tasks_max=tasks_max,
            )
        )
        return made[-1]

    yield make_executor
    for executor in made:
        executor.close()


def killing(
    slices: Sequence[Sequence[LogEntry]], at: int, victim: Callable[[], int]
) -> Iterator[Sequence[LogEntry]]:
    """The slices; while the one at `at` is folded, a process is killed: in front of the next one at
    the latest."""
    for number, each in enumerate(slices):
        if number != at:
            yield each
            continue
        killer = threading.Thread(target=os.kill, args=(victim(), signal.SIGKILL))
        killer.start()
        yield each
        killer.join()


@pytest.mark.parametrize("text", [COLUMNAR, MIXED], ids=["columns", "mixed"])
def test_the_rows_of_the_reference(make: Make, text: str) -> None:
    """Folded far away, in slices that fit a message and in one that does not."""
    entries = log(24, per_record=600)
    executor = make(text)
    assert rows_of(executor, [entries[:3], entries[3:]]) == rows_of(
        ReferenceExecutor(plan_of(text)), [entries]
    )
    (location,) = executor.locations
    assert location.executor is not None
    assert executor.rebuilds == 0


@pytest.mark.parametrize("text", [COLUMNAR, MIXED], ids=["columns", "mixed"])
def test_a_killed_executor_changes_nothing(make: Make, rebuilt: list[Rebuilt], text: str) -> None:
    """The Spark executor dies in the middle of a run; the other one builds the state again."""
    entries = log(60)
    executor = make(text)
    before = executor.locations[0]

    def jvm() -> int:
        pid = executor.locations[0].executor_pid
        assert pid is not None
        return pid

    rows = rows_of(executor, killing(cut(entries, 5), 4, jvm))
    assert rows == rows_of(ReferenceExecutor(plan_of(text)), [entries])
    assert executor.locations[0].executor != before.executor
    assert executor.rebuilds == len(rebuilt) >= 1
    assert {each.why for each in rebuilt} == {"lost"}


def test_a_killed_worker_changes_nothing(make: Make, rebuilt: list[Rebuilt]) -> None:
    """The Python worker dies in the middle of a run, behind a snapshot."""
    entries = log(60)
    executor = make(COLUMNAR)
    slices = cut(entries, 5)
    rows = rows_of(executor, slices[:4])
    executor.snapshot()
    rows += rows_of(executor, killing(slices[4:], 3, lambda: executor.locations[0].pid))
    assert rows == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])
    assert executor.rebuilds >= 1
    assert rebuilt[0].entries in {15, 20}, "what was folded since the snapshot"


def test_two_apps_side_by_side(make: Make) -> None:
    """Each keeps its own state, wherever Spark put it; a read sees the state as it is."""
    entries = log(30)
    first, second = make(COLUMNAR), make(MIXED)
    brought: tuple[list[object], list[object]] = [], []
    for each in cut(entries, 6):
        brought[0].extend(rows_of(first, [each]))
        brought[1].extend(rows_of(second, [each]))
    reference = ReferenceExecutor(plan_of(COLUMNAR))
    assert brought[0] == rows_of(reference, [entries])
    assert brought[1] == rows_of(ReferenceExecutor(plan_of(MIXED)), [entries])
    question = "from T select s, t"
    assert sorted(first.on_demand(question)) == sorted(reference.on_demand(question))


def test_shards_lose_a_machine(make: Make) -> None:
    """Two shards, and the Spark executor of one of them dies in the middle of a run."""
    entries = log(60)
    executor = make(KEYED, shards=2)
    before = executor.locations
    assert len(before) == 2

    def jvm() -> int:
        pid = executor.locations[1].executor_pid
        assert pid is not None
        return pid

    rows = rows_of(executor, killing(cut(entries, 5), 4, jvm))
    assert rows == rows_of(ReferenceExecutor(plan_of(KEYED)), [entries])
    assert executor.locations[1].executor_pid != before[1].executor_pid
    assert executor.rebuilds >= 1


def most_tasks(executors: Sequence[SparkExecutor], options: SparkOptions) -> int:
    """The most tasks that Spark had at a time while all of these folded the same log."""
    entries = log(40, per_record=600)
    tracker = open_slices(options).context.statusTracker()
    found = 0
    with ThreadPoolExecutor(len(executors)) as threads:
        folding = [threads.submit(rows_of, each, cut(entries, 4)) for each in executors]
        while wait(folding, timeout=0.005).not_done:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            found = max(found, sum(stage.numActiveTasks for stage in stages if stage is not None))
    for each in folding:
        assert each.result() == folding[0].result()
    return found


def test_a_limited_app_has_one_task_at_a_time(make: Make, options: SparkOptions) -> None:
    """Two partitions of an app keep both machines busy, and one of them if the app is limited."""
    assert most_tasks([make(KEYED), make(KEYED)], options) == 2
    limited = [make(KEYED, tasks_max=1), make(KEYED, tasks_max=1)]
    assert most_tasks(limited, options) == 1
