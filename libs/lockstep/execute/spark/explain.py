"""What Spark makes of a slice: its own account of the job."""

from __future__ import annotations

from lockstep.execute.spark import worker
from lockstep.execute.spark.session import SparkSlices


def spark_plan(slices: SparkSlices) -> str:
    """The lineage of the job that folds a slice of one app instance, as Spark tells it.

    Operators stand inside the Python stage, whatever the app: that is what keeps a slice one job.
    """
    return slices.lineage(worker.serve)
