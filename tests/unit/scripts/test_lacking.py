"""A machine without network or browser: tests are passed over with a line, but not under CI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kafka.broker import LOCK, absent_jars
from tests.needed import lacking

SCRIPTS = Path(__file__).parents[3] / "scripts"
NO_WAY_OUT = {"https_proxy": "http://127.0.0.1:1", "HTTPS_PROXY": "http://127.0.0.1:1"}
PATH = f"{Path(sys.executable).parent}:/usr/bin:/bin"
CI = [({}, 0), ({"CI": "0"}, 0), ({"CI": "1"}, 1), ({"CI": "true"}, 1)]


@pytest.mark.processes
@pytest.mark.parametrize(("environment", "code"), CI)
def test_without_maven_the_kafka_tests_are_passed_over(
    tmp_path: Path, environment: dict[str, str], code: int
) -> None:
    """One line says so; what is missing is known to the tests."""
    done = subprocess.run(
        [SCRIPTS / "kafka", tmp_path],
        env={"PATH": PATH, **NO_WAY_OUT, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert line.startswith("the Kafka tests are passed over: https://repo1.maven.org/")
    assert absent_jars(tmp_path)


def test_one_jar_that_is_gone_is_noticed(tmp_path: Path) -> None:
    """Half a fetch is none."""
    names = [
        line.split()[1].rpartition("/")[2] for line in LOCK.read_text().splitlines()[1:] if line
    ]
    wanted = [name for name in names if name.endswith(".jar")]
    for name in wanted[1:]:
        (tmp_path / name).touch()
    assert absent_jars(tmp_path) == wanted[:1]


@pytest.mark.parametrize(("environment", "code"), CI)
def test_without_a_browser_the_page_is_passed_over(
    tmp_path: Path, environment: dict[str, str], code: int
) -> None:
    """Neither there nor to be installed."""
    identity = shutil.which("id")
    assert identity is not None
    (tmp_path / "id").symlink_to(identity)
    done = subprocess.run(
        ["/bin/bash", SCRIPTS / "browser"],
        env={"PATH": str(tmp_path), **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert line.startswith("no browser: the page's test is passed over")


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [({}, pytest.skip.Exception), ({"CI": "1"}, pytest.fail.Exception)],
)
def test_nothing_is_passed_over_under_ci(
    environment: dict[str, str], outcome: type[BaseException]
) -> None:
    """There a gap must show."""
    with pytest.raises(outcome, match="no wings"):
        lacking("no wings", environment)
