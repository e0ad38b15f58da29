"""The jars of Kafka's broker, which the tests of Kafka fetch once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.kafka.broker import JARS, OLDER, absent_jars
from tests.needed import lacking

SCRIPTS = Path(__file__).parents[3] / "scripts"
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"
NO_WAY_OUT = {"https_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}


def test_jars_that_are_there_need_no_network() -> None:
    """Whoever has fetched them once."""
    if absent_jars():
        lacking("no jars of Kafka's broker: scripts/kafka fetches them from Maven Central")
    done = subprocess.run(
        [SCRIPTS / "kafka", JARS, *(["3"] if OLDER else [])],
        env={"PATH": PATH, **NO_WAY_OUT, "CI": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
