"""The one Spark context of a process: started once, shared by all app instances in it, and the jobs
that run on it. One job runs one task per request; a request goes to the slot that holds its
state."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException

from lockstep.execute.spark import blocks
from lockstep.execute.spark.company import (
    Company,
    Meanwhile,
    Served,
    SparkFailedError,
    Task,
    nothing,
)
from lockstep.execute.spark.gateway import launched
from lockstep.execute.spark.jobs import Jobs
from lockstep.execute.spark.lines import Lines
from lockstep.execute.spark.slots import Slots, Use


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How to reach Spark. `master` is any Spark master URL; memory sizes as Spark writes them.

    `slots`: how many Python workers hold app states; instances beyond that share them. On a
    cluster, a process takes `cluster_max_cores` of it, in executors of `executor_cores` and
    `executor_memory`. `settings` are further Spark settings, which win over ours.
    """

    master: str = "local[*]"
    driver_memory: str = "1g"
    executor_memory: str = "1g"
    executor_cores: int = 1
    cluster_max_cores: int = 4
    app_name: str = "lockstep"
    local_directory: str | None = None
    slots: int = 4
    settings: tuple[tuple[str, str], ...] = ()


class SparkSlices:
    """Runs requests in the workers of slots; those that come for a busy slot go together next.

    Spark keeps idle Python workers in a pool per environment. A slot is an environment variable and
    runs one task at a time, so its tasks come back to the same worker as long as it lives, and the
    states it holds are there. `shares_memory`: driver and workers are on one machine. Then large
    blocks need not travel through Spark, and a job serves requests as long as they come (lines).
    Elsewhere each request is a job.
    """

    def __init__(self, context: SparkContext, slots: int, *, is_local: bool) -> None:
        self._context = context
        self._guard = threading.Lock()
        # Each thread that calls the gateway has a connection to the JVM and a thread there, for
        # good. As many jobs run at a time as there are slots; one thread more looks after Spark.
        self._callers = ThreadPoolExecutor(slots + 1, thread_name_prefix="spark")
        self._slots = Slots(slots)
        self._runs: Counter[tuple[int, str | None]] = Counter()
        self._gone: defaultdict[tuple[int, str | None], list[str]] = defaultdict(list)
        self.shares_memory = is_local and blocks.can_share()
        self._jobs = Jobs(context, answers_are_small=self.shares_memory)
        self._lines = Lines(self._submit) if self.shares_memory else None
        self._company = (
            Company(self._by_jobs) if self._lines is None else Company(self._by_lines, gather=None)
        )

    def acquire(self, use: Use, avoid: Sequence[int] = ()) -> int:
        """A slot for an instance; see Slots.take."""
        with self._guard:
            return self._slots.take(use, avoid)

    def release(self, use: Use, slot: int, location: str | None, instance: str) -> None:
        """The instance that acquired the slot is gone; the slot's next task there tells the worker
        that has its state."""
        with self._guard:
            self._slots.give_back(use, slot)
            self._gone[slot, location].append(instance)

    def gone(self, slot: int, location: str | None) -> list[str]:
        """The instances that the slot's worker there may forget; each is told once."""
        with self._guard:
            return self._gone.pop((slot, location), [])

    def run(
        self, function: Served, tasks: Sequence[Task], meanwhile: Meanwhile = nothing
    ) -> list[bytes]:
        """`function` over each task's payload, in the worker of its slot; see Company.

        The tasks' slots differ. Raises SparkFailedError.
        """
        return self._company.run(function, tasks, meanwhile)

    def runs(self, slot: int, location: str | None) -> int:
        """How often the worker of a slot was asked there."""
        return self._runs[slot, location]

    def _by_jobs(
        self, function: Served, batches: Sequence[Sequence[Task]], meanwhile: Meanwhile
    ) -> list[list[bytes]]:
        job = self._submit(function, batches)
        meanwhile()
        answers = job.result()
        self._count(batches)
        return answers

    def _by_lines(
        self, function: Served, batches: Sequence[Sequence[Task]], meanwhile: Meanwhile
    ) -> list[list[bytes]]:
        assert self._lines is not None
        answers = self._lines.ask(function, batches, meanwhile)
        self._count(batches)
        return answers

    def _submit(
        self, function: Served, batches: Sequence[Sequence[Task]]
    ) -> Future[list[list[bytes]]]:
        """SparkFailedError."""
        try:
            return self._callers.submit(self._jobs.run, function, batches)
        except RuntimeError as error:  # closed, as Spark was gone: another one has its place
            raise SparkFailedError("this Spark is gone") from error

    def _count(self, batches: Sequence[Sequence[Task]]) -> None:
        with self._guard:
            self._runs.update(batch[0].place for batch in batches)

    def lineage(self, function: Served) -> str:
        """How Spark would run a job of `function` on one payload, in its own words."""
        return self._jobs.lineage(function)

    def most(self, use: Use) -> int:
        """See Slots.most."""
        return self._slots.most(use)

    def heap_bytes(self) -> dict[str, int]:
        """Of the driver's JVM, by area: used, committed, max; nothing when it is gone."""
        try:
            runtime: Any = self._context._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
            committed = int(runtime.totalMemory())
            used = committed - int(runtime.freeMemory())
            return {"used": used, "committed": committed, "max": int(runtime.maxMemory())}
        except (Py4JError, OSError, AttributeError):
            return {}

    @property
    def is_gone(self) -> bool:
        """Whether Spark has stopped: by itself (its master gave the application up), or with its
        JVM."""
        return self._callers.submit(self._has_stopped).result()

    def _has_stopped(self) -> bool:
        context: Any = self._context
        try:
            return context._jsc is None or bool(context._jsc.sc().isStopped())
        except (Py4JError, OSError):
            return True

    def close(self) -> None:
        """No more jobs; those that run end by themselves. The context goes on."""
        if self._lines is not None:
            self._lines.close()
        self._callers.shutdown(wait=False)

    @property
    def context(self) -> SparkContext:
        """The Spark context, for bulk jobs and explain."""
        return self._context


_guard = threading.Lock()
_slices: SparkSlices | None = None


def open_slices(options: SparkOptions) -> SparkSlices:
    """The process's Spark, started with `options` at the first call, and again when it is gone.
    SparkFailedError."""
    global _slices
    with _guard:
        if _slices is not None and _slices.is_gone:
            _slices.close()
            _forget(_slices.context)
            _slices = None
        if _slices is None:
            is_local = options.master.startswith("local")
            try:
                _slices = SparkSlices(_start(options), options.slots, is_local=is_local)
            except (Py4JError, PySparkException, OSError) as error:
                raise SparkFailedError(f"Spark does not start: {error}") from error
        return _slices


def heap_bytes() -> dict[str, int]:
    """Of the process's Spark, see SparkSlices.heap_bytes; nothing when none was started."""
    found = _slices
    return {} if found is None else found.heap_bytes()


def close_slices() -> None:
    """Stops the process's Spark; idempotent."""
    global _slices
    with _guard:
        if _slices is not None:
            _slices.close()
            _slices.context.stop()
            _slices = None


JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM starts a job a slice and moves small messages; events pass it by in shared
memory. The optimising compiler and the parallel collectors take more from the cores than they give
back: 25 ms a slice instead of 50, 3 s of start-up instead of 6."""


def _forget(context: SparkContext) -> None:
    """A context that is gone must not stand in the way of the next one."""
    with suppress(Py4JError, OSError):
        context.stop()
    gateway: Any = SparkContext._gateway
    if gateway is not None and gateway.proc.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


TASK_ATTEMPTS = 4


def _start(options: SparkOptions) -> SparkContext:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(options.master).setAppName(options.app_name)
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
        # A name that is no view is looked up there, which makes the folder: not where people are.
        "spark.sql.warehouse.dir": os.path.join(
            options.local_directory or tempfile.gettempdir(), "lockstep-warehouse"
        ),
    }
    settings |= _of_place(options)
    if options.local_directory is not None:
        settings["spark.local.dir"] = options.local_directory
    for key, value in (settings | dict(options.settings)).items():
        conf.set(key, value)
    if SparkContext._gateway is None:
        SparkContext._ensure_initialized(gateway=launched(conf))
    if options.master.startswith("local"):
        _make_room(conf, options)
    return SparkContext.getOrCreate(conf)


def _make_room(conf: SparkConf, options: SparkOptions) -> None:
    """On one machine jobs of slots stay: other jobs have as many threads as they had without."""
    jvm: Any = SparkContext._jvm
    threads = _threads(
        options.master, int(jvm.java.lang.Runtime.getRuntime().availableProcessors())
    )
    if threads is not None:
        conf.set("spark.default.parallelism", str(threads))
        conf.setMaster(f"local[{threads + options.slots},{TASK_ATTEMPTS}]")


def _of_place(options: SparkOptions) -> dict[str, str]:
    """Where the driver listens, and what the process takes of a cluster."""
    if options.master.startswith("local"):
        return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    settings = {
        "spark.executor.memory": options.executor_memory,
        "spark.executor.cores": str(options.executor_cores),
        "spark.cores.max": str(options.cluster_max_cores),
        # A slot's state is a whole Spark executor away from where it is not.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "10s",
    }
    found = re.search(r"//([^:/,]+):(\d+)", options.master)
    if found is not None:
        address = _address_towards(found[1], int(found[2]))
        settings |= {"spark.driver.host": address, "spark.driver.bindAddress": address}
    return settings


def _address_towards(host: str, port: int) -> str:
    """This machine's address as a master at that place sees it; SparkFailedError."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Connecting a datagram socket sends nothing: it only asks for the way.
            probe.connect((host, port))
            return str(probe.getsockname()[0])
    except OSError as error:
        raise SparkFailedError(f"there is no way to the Spark master at {host}:{port}") from error


def _threads(master: str, processors: int) -> int | None:
    """How many a local master names; None where it says more than that."""
    if master == "local":
        return 1
    found = re.fullmatch(r"local\[(\*|\d+)\]", master)
    if found is None:
        return None
    return processors if found[1] == "*" else int(found[1])
