"""Jobs of one task per slot, as Spark's JVM runs them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import RDD, SparkContext
from pyspark.core.rdd import _wrap_function
from pyspark.errors import PySparkException
from pyspark.serializers import NoOpSerializer

from lockstep.events.typed import from_msgpack
from lockstep.execute.spark.company import Served, SparkFailedError, Task, WorkerDiedError

WORKER_SLOT: Final = "LOCKSTEP_WORKER_SLOT"
"""Environment variable that sets the worker processes of different slots apart."""
GATEWAY_MAX_BYTES: Final = 256 * 1024
_DEATH: Final = re.compile(r"Python worker exited unexpectedly|(?<!OutOf)MemoryError")


class _Jvm:
    """What every job asks the JVM for, looked up once."""

    def __init__(self, context: Any) -> None:
        jvm = context._jvm
        self.context = context._jsc.sc()
        self.python_rdd = jvm.PythonRDD
        self.sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        self.bytes = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))


class Jobs:
    """Of one Spark context. `answers_are_small`: large blocks are in shared memory.

    Each call of the gateway is a round trip to the JVM, and a job of the public interface makes
    thirty: a third of a small slice's time. So what all jobs share is made once.
    """

    def __init__(self, context: SparkContext, *, answers_are_small: bool) -> None:
        self._context = context
        self._jvm = _Jvm(context)
        self._answers_are_small = answers_are_small
        self._guard = threading.Lock()
        self._functions: dict[tuple[Served, int], Any] = {}

    def run(self, function: Served, batches: Sequence[Sequence[Task]]) -> list[list[bytes]]:
        """`function` over the payloads of each batch, one task for each; blocks the caller's
        connection to the JVM. SparkFailedError."""
        try:
            answers = self._collected(self._job(function, batches))
        except (Py4JError, PySparkException, OSError) as error:
            kind = WorkerDiedError if _is_death(str(error)) else SparkFailedError
            raise kind(f"a Spark job failed: {error}") from error
        return [from_msgpack(answer, list[bytes]) for answer in answers]

    def lineage(self, function: Served) -> str:
        """How Spark would run a job of `function` on one payload, in its own words."""
        return str(self._job(function, [[Task(0, b"")]]).toDebugString())

    def _job(self, function: Served, batches: Sequence[Sequence[Task]]) -> Any:
        """The JVM's RDD of the answers, one of each batch."""
        jvm = self._jvm
        parts = [
            jvm.python_rdd(self._source(batch), self._served(function, batch[0].slot), False, False)
            for batch in batches
        ]
        return parts[0] if len(parts) == 1 else jvm.context.union(jvm.sequence(parts), jvm.bytes)

    def _collected(self, job: Any) -> list[bytes]:
        if self._answers_are_small:
            return [bytes(answer) for answer in job.collect()]
        return list(map(bytes, RDD(job.toJavaRDD(), self._context, NoOpSerializer()).collect()))

    def _served(self, function: Served, slot: int) -> Any:
        """`function` as the JVM has it run in the workers of a slot."""
        with self._guard:
            found = self._functions.get((function, slot))
            if found is None:
                no_op = NoOpSerializer()
                context = _in_slot(self._context, slot)
                found = _wrap_function(context, _of_partition(function), no_op, no_op)
                self._functions[function, slot] = found
            return found

    def _source(self, batch: Sequence[Task]) -> Any:
        """An RDD of the batch as one payload, that Spark should read where its location says."""
        framed = msgspec.msgpack.encode([task.payload for task in batch])
        jvm, payload, location = self._jvm, self._in_jvm(framed), batch[0].location
        if location is None:
            return jvm.context.makeRDD(payload, 1, jvm.bytes)
        places = jvm.sequence([jvm.sequence([location])])
        return jvm.context.makeRDD(payload.zip(places), jvm.bytes)

    def _in_jvm(self, payload: bytes) -> Any:
        """A Scala sequence of the one payload; a large one goes through a file, as the gateway
        spells bytes out in letters."""
        if len(payload) <= GATEWAY_MAX_BYTES:
            return self._jvm.sequence([bytearray(payload)])
        context: Any = self._context
        jvm = context._jvm
        source = context._serialize_to_jvm(
            [payload],
            NoOpSerializer(),
            lambda path: jvm.PythonRDD.readRDDFromFile(context._jsc, path, 1),
            lambda: jvm.PythonParallelizeServer(context._jsc.sc(), 1),
        )
        return source.rdd().partitions()[0].iterator().toSeq()


def _is_death(message: str) -> bool:
    """Spark says so of a Python worker that ended by itself, or by the system's hand. The JVM's
    OutOfMemoryError is none of that."""
    return _DEATH.search(message) is not None


def _in_slot(context: SparkContext, slot: int) -> SparkContext:
    """The context with a slot's environment. The context itself never has one: other jobs of the
    process would get workers of the slot, several at a time, and its tasks then go round between
    them."""
    seen: SparkContext = object.__new__(SparkContext)
    seen.__dict__ = {
        **context.__dict__,
        "environment": {**context.environment, WORKER_SLOT: str(slot)},
    }
    return seen


def _of_partition(function: Served) -> Callable[[int, Iterable[bytes]], Iterator[bytes]]:
    def served(_: int, batches: Iterable[bytes]) -> Iterator[bytes]:
        for batch in batches:
            payloads = from_msgpack(batch, list[bytes])
            yield msgspec.msgpack.encode(list(function(payloads)))

    return served
