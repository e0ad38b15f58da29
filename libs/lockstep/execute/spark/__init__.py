"""The Spark executor: the product's engine. The only package that imports pyspark."""

from lockstep.execute.spark.executor import SparkExecutor
from lockstep.execute.spark.explain import explain
from lockstep.execute.spark.session import SparkOptions, close_slices, open_slices

__all__ = ["SparkExecutor", "SparkOptions", "close_slices", "explain", "open_slices"]
