"""Every golden on all executors, whole, cut, and as a fleet; `--rewrite` accepts what comes out."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from lockstep.fleet import FleetExecutor
from lockstep.testing.difference import differences
from lockstep.testing.files import find_files, load, run_file
from lockstep.testing.play import play
from lockstep.testing.virtual_app import cut_into
from tests.golden.as_fleets import (
    BY_PARTITION,
    CUT_MIN,
    PARTITIONS,
    brought,
    fleets_of,
    made,
    played,
)
from tests.golden.cuts import cut_anywhere

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
        for cut, lines in enumerate(cut_anywhere(scenario)):
            found = differences(scenario, lines)
            assert not found, f"cut before call {cut}: {found[0].text()}"


@every_file
def test_in_columns_cut_in_the_middle(file: Path) -> None:
    """The same in columns, without a JVM, restored half way."""
    for scenario in load(file).scenarios:
        lines = play(scenario, executor="columnar", cut=len(scenario.calls) // 2)
        found = differences(scenario, lines)
        assert not found, found[0].text()


@every_file
def test_a_fleet_brings_what_one_node_brings(file: Path) -> None:
    """Where the planner cuts it: rows, with their times, and the reasons of faults."""
    for scenario, fleet in fleets_of(file):
        app = played(scenario)
        one = made(app.plan).run_slice(app.log)
        many = FleetExecutor(fleet, made).run_slice(app.log)
        whole = [
            name
            for group in fleet.groups
            if group.partitions == 1
            for name in (*group.exported, *group.stored)
        ]
        assert brought(many, whole) == brought(one, whole)
        assert Counter(each.reason for each in many.faults) == Counter(
            each.reason for each in one.faults
        )


@every_file
def test_a_golden_holds_in_partitions(file: Path) -> None:
    """Each call brings what is written there: rows of queries, refusals, answers and faults. Apps
    that stay one unit are played as they are elsewhere."""
    texts = {scenario.app_text for scenario in load(file).scenarios}
    if all(cut_into(text, PARTITIONS).is_single for text in texts):
        return
    for report in run_file(file, parallel=PARTITIONS):
        if file.as_posix().endswith(BY_PARTITION):
            assert "@query from T select k limit 1" in report.text()
        else:
            assert report.passed, report.text()


def test_some_goldens_are_cut() -> None:
    """Enough of them that the test above says something."""
    found = (each for file in FILES for each in fleets_of(file))
    assert len(list(islice(found, CUT_MIN))) == CUT_MIN


@pytest.mark.usefixtures("spark_env")
@every_file
def test_on_spark_cut_in_the_middle(file: Path) -> None:
    """The same on Spark, restored half way in another worker's memory."""
    for scenario in load(file).scenarios:
        lines = play(scenario, executor="spark", cut=len(scenario.calls) // 2)
        found = differences(scenario, lines)
        assert not found, found[0].text()
