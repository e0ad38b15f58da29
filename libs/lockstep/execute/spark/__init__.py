"""The Spark executor: the product's engine. The only package that imports pyspark."""

from lockstep.execute.spark.asking import Rebuilt
from lockstep.execute.spark.executor import SparkExecutor
from lockstep.execute.spark.explain import spark_plan
from lockstep.execute.spark.session import SparkOptions, close_slices, heap_bytes, open_slices

__all__ = [
    "Rebuilt",
    "SparkExecutor",
    "SparkOptions",
    "close_slices",
    "heap_bytes",
    "open_slices",
    "spark_plan",
]
