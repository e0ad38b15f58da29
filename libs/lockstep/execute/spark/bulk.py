"""Work on much data at once, as one Spark job: a task for each request, on the executors there are.

Nothing is kept between jobs. A task may run twice: what it writes has to bear that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from lockstep.events import Fault, LockstepError
from lockstep.execute.spark.company import SparkFailedError
from lockstep.execute.spark.session import SparkOptions, open_slices

Work = Callable[[bytes], bytes]
"""A function that workers can import."""


def run_tasks(work: Work, requests: Sequence[bytes], options: SparkOptions) -> list[bytes]:
    """The answers, in the order of the requests. SparkFailedError."""
    context = open_slices(options).context
    try:
        asked = context.parallelize(list(requests), len(requests))
        return [bytes(one) for one in asked.map(work).collect()]
    except (Py4JError, PySparkException, OSError) as error:
        raise SparkFailedError(f"a Spark job failed: {error}") from error


def session_of(options: SparkOptions) -> SparkSession:
    """The process's Spark, for SQL. Times are UTC."""
    context = open_slices(options).context
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # They write each error to the terminal, with a stack trace; who asks gets it from us.
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    session = SparkSession(context)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", str(max(context.defaultParallelism, 2)))
    return session


class QueryRefusedError(LockstepError):
    """Spark does not understand a query, or does not find what it names."""

    fault = Fault.USER


def rows_of_frame(make: Callable[[], DataFrame]) -> pa.Table:
    """All rows of a frame. QueryRefusedError, SparkFailedError."""
    with as_ours():
        return make().toArrow()


@contextmanager
def as_ours() -> Iterator[None]:
    """Spark's errors become QueryRefusedError and SparkFailedError."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise QueryRefusedError(str(error).strip().split("\n")[0]) from error
    except (Py4JError, PySparkException, OSError) as error:
        raise SparkFailedError(f"a Spark job failed: {error}") from error


def parquet_frame(session: SparkSession, folder: str, files: Sequence[str]) -> DataFrame:
    """The Parquet files of a table in a folder, with the columns that its folders' names tell."""
    return session.read.option("basePath", folder).parquet(*files)


def rows_frame(
    session: SparkSession, files: Sequence[str], schema: Any, read: Callable[..., Any]
) -> DataFrame:
    """The same by Python: `read` gives the batches of a file that Spark cannot open by itself."""
    named = session.createDataFrame([(one,) for one in files], "file string")
    named = named.repartition(max(1, min(len(files), 64)))

    def opened(batches: Any) -> Any:
        for batch in batches:
            for file in batch.column(0).to_pylist():
                yield from read(file)

    return named.mapInArrow(opened, schema)
