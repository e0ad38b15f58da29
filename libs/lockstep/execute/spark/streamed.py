"""The rows of a query as they come: a few partitions at a time, however many rows there are.

A thread works with Spark, and whoever wants the rows waits for it. So the waiting thread has a
connection to the JVM that nothing holds up: it asks how far Spark is, and can call it off at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _load_from_socket

from lockstep.events import LockstepError
from lockstep.execute.spark.bulk import as_ours
from lockstep.execute.spark.company import SparkFailedError

HELD_BATCHES: Final = 4
"""So many wait for who takes them; then Spark waits, too."""
ASKED_EVERY_S: Final = 0.2
"""How far Spark is."""

Told = Callable[[int, int], None]
"""How many tasks are done, of how many that are known."""

SMALL_PARTITIONS: Final = {
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
}
"""A partition is what the driver holds at least."""


class CalledOffError(Exception):
    """Nobody wants the rows any more."""


class Streamed:
    """The rows of the frame that `make` gives. Errors of Lockstep come where they are waited for:
    QueryRefusedError, SparkFailedError, and those of `make`. `told` is called by the waiting
    thread."""

    def __init__(
        self, make: Callable[[], DataFrame], told: Told = lambda done, known: None
    ) -> None:
        self._make = make
        self._told = told
        self._given: queue.Queue[Any] = queue.Queue(HELD_BATCHES)
        self._called_off = threading.Event()
        self._context: SparkContext | None = None
        self._ahead = 0
        self._stages: dict[int, tuple[int, int]] = {}
        self._worker = threading.Thread(target=self._work, name="spark-rows", daemon=True)
        self._worker.start()

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the rows; waits until Spark knows it."""
        return self._next()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        _ = self.schema  # it comes first
        while (found := self._next()) is not None:
            yield found

    def _next(self) -> Any:
        while True:
            try:
                found = self._given.get(timeout=ASKED_EVERY_S)
            except queue.Empty:
                if not self._worker.is_alive() and self._given.empty():
                    raise SparkFailedError("the query ended in an unexpected way") from None
                self._tell()
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def call_off(self) -> None:
        """Spark stops working on it now."""
        self._called_off.set()
        with suppress(Py4JError, OSError):
            if self._context is not None:
                self._context.cancelAllJobs()
        with suppress(queue.Empty):
            while True:
                self._given.get_nowait()

    def _tell(self) -> None:
        context = self._context
        if context is None:
            return
        tracker = context.statusTracker()
        active = tracker.getActiveStageIds()
        for stage, (_, tasks) in self._stages.items():
            if stage not in active:
                self._stages[stage] = (tasks, tasks)
        for stage in active:
            found = tracker.getStageInfo(stage)
            if found is not None:
                self._stages[stage] = (found.numCompletedTasks, found.numTasks)
        done, known = map(sum, zip((0, 0), *self._stages.values(), strict=True))
        self._told(done, known + self._ahead)

    # What follows runs in the thread that works.

    def _work(self) -> None:
        try:
            with as_ours():
                frame = self._make()
                schema = to_arrow_schema(frame.schema, timezone="UTC")
                self._context = frame.sparkSession.sparkContext
                self._give(schema)
                for batch in self._batches(frame, self._context):
                    self._give(pa.Table.from_batches([batch]).cast(schema))
            self._give(None)
        except CalledOffError:
            return
        except (LockstepError, pa.ArrowException) as error:
            with suppress(CalledOffError):
                self._give(error)

    def _give(self, value: Any) -> None:
        if self._called_off.is_set():
            raise CalledOffError
        if isinstance(value, pa.Table):
            for batch in value.to_batches():
                self._given.put(batch)
        else:
            self._given.put(value)

    def _batches(self, frame: DataFrame, context: Any) -> Iterator[pa.RecordBatch]:
        """Each job gives as many partitions as run at a time, in order: all cores work, and the
        driver holds no more than that."""
        rows: Any = frame._jdf.toArrowBatchRdd().toJavaRDD()
        read = to_arrow_schema(frame.schema, timezone="UTC")
        count, at_once = rows.getNumPartitions(), max(context.defaultParallelism, 1)
        for first in range(0, count, at_once):
            several = list(range(first, min(first + at_once, count)))
            self._ahead = count - first - len(several)
            served = context._jvm.PythonRDD.runJob(context._jsc.sc(), rows, several)
            with _load_from_socket(served, NoOpSerializer()) as messages:
                for message in messages:
                    yield pa.ipc.read_record_batch(pa.py_buffer(message), read)
