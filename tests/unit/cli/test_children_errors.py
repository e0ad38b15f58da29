"""Log lines of `lockstep run` stay on its standard error; what its children say there does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import subprocess, sys
from pathlib import Path

from lockstep.cli.suite import _children_write_to
from lockstep.telemetry import configure_logging, get_logger

configure_logging(service="lockstep")
early = get_logger(app="A")
with _children_write_to(Path(sys.argv[1])):
    early.info("of the suite")
    get_logger().info("of the suite, too")
    subprocess.run(["sh", "-c", "echo of a child >&2"], check=True)
early.info("at the end")
"""


@pytest.mark.processes
def test_lines_of_the_suite_do_not_go_where_its_children_write(tmp_path: Path) -> None:
    """Also those of loggers that were made before."""
    log = tmp_path / "spark.log"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(log)], capture_output=True, text=True, check=True
    )
    assert log.read_text() == "of a child\n"
    said = [line.partition('"message"')[2] for line in done.stderr.splitlines()]
    assert [one.split('"')[1] for one in said] == [
        "of the suite", "of the suite, too", "at the end",
    ]  # fmt: skip
