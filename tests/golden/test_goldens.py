"""Every golden on all executors, whole and cut; `--rewrite` accepts what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.testing.difference import differences
from lockstep.testing.files import find_files, load, run_file
from lockstep.testing.play import play

HERE = Path(__file__).parent
FILES = find_files([HERE])


def name_of(file: Path) -> str:
    """The golden's place below this folder, without its suffix."""
    return str(file.relative_to(HERE).with_suffix(""))


every_file = pytest.mark.parametrize("file", FILES, ids=name_of, scope="module")
"""All tests of a file stand together: its app is read once for them."""


def test_there_are_goldens() -> None:
    """At least three hundred, found where they are looked for."""
    assert len(FILES) >= 300


@every_file
def test_whole(file: Path, rewrite: bool) -> None:
    """The app brings what the golden says, call by call."""
    reports = run_file(file, update=rewrite)
    assert reports
    assert not [report.text() for report in reports if not report.passed]


@every_file
def test_cut_anywhere(file: Path) -> None:
    """Snapshot, throw away, restore and go on before any call: nothing changes."""
    for scenario in load(file).scenarios:
        for cut in range(1, len(scenario.calls)):
            found = differences(scenario, play(scenario, cut=cut))
            assert not found, f"cut before call {cut}: {found[0].text()}"


@every_file
def test_in_columns_cut_in_the_middle(file: Path) -> None:
    """The same in columns, without a JVM, restored half way."""
    for scenario in load(file).scenarios:
        brought = play(scenario, executor="columnar", cut=len(scenario.calls) // 2)
        found = differences(scenario, brought)
        assert not found, found[0].text()


@pytest.mark.usefixtures("spark_env")
@every_file
def test_on_spark_cut_in_the_middle(file: Path) -> None:
    """The same on Spark, restored half way in another worker's memory."""
    for scenario in load(file).scenarios:
        brought = play(scenario, executor="spark", cut=len(scenario.calls) // 2)
        found = differences(scenario, brought)
        assert not found, found[0].text()
