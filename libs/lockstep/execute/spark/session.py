"""The one Spark context of a process: started once, shared by all app instances in it, and the jobs
that run on it. One job runs one task per request; a request goes to the slot that holds its
state."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import RDD, SparkConf, SparkContext
from pyspark.errors import PySparkException

from lockstep.events import UnavailableError
from lockstep.execute.spark import blocks

WORKER_SLOT = "LOCKSTEP_WORKER_SLOT"
"""Environment variable that sets the worker processes of different slots apart."""

Served = Callable[[Iterable[bytes]], Iterator[bytes]]


class SparkFailedError(UnavailableError):
    """A Spark job failed for good, or Spark is gone: the slice can be folded again from its
    base."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How to reach Spark. `master` is any Spark master URL; `driver_memory` as Spark writes it.

    `slots`: how many Python workers hold app states; instances beyond that share them. `settings`
    are further Spark settings, which win over ours.
    """

    master: str = "local[*]"
    driver_memory: str = "1g"
    app_name: str = "lockstep"
    local_directory: str | None = None
    slots: int = 4
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A request for the worker of a slot; `location` names the Spark executor that has its
    state."""

    slot: int
    payload: bytes
    location: str | None = None


class SparkSlices:
    """Runs jobs of one task per request.

    Spark keeps idle Python workers in a pool per environment. A slot is an environment variable and
    runs one task at a time, so its tasks come back to the same worker as long as it lives, and the
    states it holds are there. `shares_memory`: driver and workers are on one machine, so large
    blocks need not travel through Spark.
    """

    def __init__(self, context: SparkContext, slots: int, *, is_local: bool) -> None:
        self._context = context
        self._is_local = is_local
        self._guard = threading.Lock()
        self._slots = [threading.Lock() for _ in range(slots)]
        self._users: Counter[int] = Counter()
        self._gone: list[list[str]] = [[] for _ in range(slots)]
        self.shares_memory = is_local and blocks.can_share()

    def acquire(self, avoid: Sequence[int] = ()) -> int:
        """A slot for an instance: the one with the fewest, other than `avoid` if there is
        another."""
        with self._guard:
            wanted = [slot for slot in range(len(self._slots)) if slot not in avoid]
            slot = min(wanted or range(len(self._slots)), key=lambda each: self._users[each])
            self._users[slot] += 1
            return slot

    def release(self, slot: int, instance: str) -> None:
        """The instance that acquired the slot is gone; the slot's next task tells the worker."""
        with self._guard:
            self._users[slot] -= 1
            self._gone[slot].append(instance)

    def gone(self, slot: int) -> list[str]:
        """The instances that the slot's worker may forget; each is told once."""
        with self._guard:
            told, self._gone[slot] = self._gone[slot], []
            return told

    def run(self, function: Served, tasks: Sequence[Task]) -> list[bytes]:
        """One Spark job: `function` over each task's payload, in the worker of its slot.

        The tasks' slots differ. Raises SparkFailedError.
        """
        with ExitStack() as held:
            for slot in sorted({task.slot for task in tasks}):
                held.enter_context(self._slots[slot])
            try:
                return [bytes(result) for result in self._job(function, tasks).collect()]
            except (Py4JError, PySparkException, OSError) as error:
                raise SparkFailedError(f"a Spark job failed: {error}") from error

    def _job(self, function: Served, tasks: Sequence[Task]) -> RDD[bytes]:
        with self._guard:
            parts = [self._part(function, task) for task in tasks]
        return parts[0] if len(parts) == 1 else self._context.union(parts)

    def _part(self, function: Served, task: Task) -> RDD[bytes]:
        self._context.environment[WORKER_SLOT] = str(task.slot)
        if self._is_local or task.location is None:
            source = self._context.parallelize([task.payload], 1)
        else:
            source = self._placed(task.payload, task.location)
        mapped = source.mapPartitions(function)
        # Reading the Java side now fixes the worker environment of this task.
        mapped._jrdd  # noqa: B018
        return mapped

    def _placed(self, payload: bytes, location: str) -> RDD[bytes]:
        """A source of one payload that Spark should read where `location` says."""
        context: Any = self._context
        jvm = context._jvm
        to_seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        pair = jvm.scala.Tuple2(bytearray(payload), to_seq([location]))
        tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
        source = context._jsc.sc().makeRDD(to_seq([pair]), tag)
        from pyspark.serializers import NoOpSerializer

        return RDD(source.toJavaRDD(), context, NoOpSerializer())

    @property
    def context(self) -> SparkContext:
        """The Spark context, for bulk jobs and explain."""
        return self._context


_guard = threading.Lock()
_slices: SparkSlices | None = None


def open_slices(options: SparkOptions) -> SparkSlices:
    """The process's Spark, started with `options` at the first call."""
    global _slices
    with _guard:
        if _slices is None:
            is_local = options.master.startswith("local")
            _slices = SparkSlices(_start(options), options.slots, is_local=is_local)
        return _slices


def close_slices() -> None:
    """Stops the process's Spark; idempotent."""
    global _slices
    with _guard:
        if _slices is not None:
            _slices.context.stop()
            _slices = None


JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM starts a job a slice and moves small messages; events pass it by in shared
memory. The optimising compiler and the parallel collectors take more from the cores than they give
back: 25 ms a slice instead of 50, 3 s of start-up instead of 6."""

TASK_ATTEMPTS = 4


def _start(options: SparkOptions) -> SparkContext:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setMaster(_with_attempts(options.master)).setAppName(options.app_name)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": options.driver_memory,
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.python.worker.reuse": "true",
        # Over TCP each task waits 40 ms for a delayed acknowledgement.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.rpc.message.maxSize": "1024",
        "spark.task.maxFailures": str(TASK_ATTEMPTS),
    }
    if options.master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if options.local_directory is not None:
        settings["spark.local.dir"] = options.local_directory
    for key, value in (settings | dict(options.settings)).items():
        conf.set(key, value)
    return SparkContext.getOrCreate(conf)


def _with_attempts(master: str) -> str:
    """A local master tries a task once unless told otherwise; a killed worker must not end a
    job."""
    if master == "local":
        return f"local[1,{TASK_ATTEMPTS}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{TASK_ATTEMPTS}]"
    return master
