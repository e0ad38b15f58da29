"""What Spark's JVM says stays out of what a process writes."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from lockstep.embedded import prepare_spark_environment
prepare_spark_environment()
import os
os.environ.update({changed!r})
from lockstep.execute.spark.bulk import session_of
from lockstep.execute.spark.session import SparkOptions, close_slices
session = session_of(SparkOptions(master="local[1]"))
print(session.sparkContext.parallelize([1], 1).map(lambda one: one + 1).collect())
close_slices()
"""


def ran(**changed: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(changed=changed)],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip


def test_a_program_that_asks_spark_writes_its_own_lines_alone() -> None:
    """No banner, no warning, no traceback of a worker that ends."""
    done = ran()
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2]\n", "")


def test_why_spark_does_not_start_stands_in_the_error() -> None:
    """The JVM's last words do."""
    done = ran(JAVA_HOME="/nowhere")
    assert "SparkFailedError: Spark does not start" in done.stderr
    assert "/nowhere/bin/java: No such file or directory" in done.stderr
