"""What Spark's JVM says stays out of what a process writes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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

START = """
from lockstep.embedded import prepare_spark_environment
prepare_spark_environment()
import os
forks = []
os.register_at_fork(before=lambda: forks.append("forked"))
from pathlib import Path
from pyspark import SparkConf
from lockstep.execute.spark.gateway import launched
gateway = launched(SparkConf(loadDefaults=False).set("spark.driver.memory", "200m"))
lines = Path(f"/proc/{{gateway.proc.pid}}/status").read_text().splitlines()
ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
secrets = [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")]
print(forks, gateway.jvm.java.lang.Math.abs(-3), bool(ignored & 1 << 1), secrets)
gateway.shutdown()
"""

LINES = """
from lockstep.embedded import prepare_spark_environment
prepare_spark_environment()
from lockstep.execute.spark.bulk import run_tasks
from lockstep.execute.spark.company import Task
from lockstep.execute.spark.session import SparkOptions, close_slices, open_slices
options = SparkOptions(master="local[1]", slots=2)
slices = open_slices(options)
for name in (b"a", b"b"):
    print(slices.run(iter, [Task(0, name), Task(1, name)]))
print(run_tasks(bytes.upper, [b"c", b"d"], options))
print(slices.run(iter, [Task(1, b"e")]))
{end}
"""


def ran(program: str = PROGRAM, **changed: object) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program.format(changed=changed, **changed)],
        capture_output=True, text=True, check=False, env={**os.environ}, timeout=240,
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


def test_the_jvm_starts_without_a_fork_and_is_deaf_to_interrupts() -> None:
    """What libraries do in forked children (gRPC begins threads) can't end it before it is Java."""
    done = ran(START)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[] 3 True []\n", "")


@pytest.mark.parametrize("end", ["close_slices()", "pass"], ids=["closed", "left open"])
def test_jobs_that_stay_leave_room_for_others_and_end_with_the_program(end: str) -> None:
    """On one core, with two slots whose jobs wait for more; nothing is said of their end."""
    done = ran(LINES, end=end)
    wanted = "[b'a', b'a']\n[b'b', b'b']\n[b'C', b'D']\n[b'e']\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")
