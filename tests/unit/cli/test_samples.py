"""The sample apps: each passes its tests, is listed, shown and copied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.cli.commands.samples import FOLDER, sample_names
from lockstep.siddhiql import check
from lockstep.testing.files import load, run_file
from tests.unit.cli.conftest import Lockstep


@pytest.mark.parametrize("name", sample_names())
def test_passes_its_tests(name: str) -> None:
    """On the reference executor, as `lockstep test` runs them."""
    reports = run_file(FOLDER / f"{name}.test")
    assert len(reports) >= 2
    assert not [report.text() for report in reports if not report.passed]


@pytest.mark.parametrize("name", sample_names())
def test_expects_something_in_every_file(name: str) -> None:
    """A sample without expectations would pass whatever came."""
    for scenario in load(FOLDER / f"{name}.test").scenarios:
        assert any(call.text for call in scenario.calls)
    assert any(c.expected for s in load(FOLDER / f"{name}.test").scenarios for c in s.calls)


def test_cover_the_main_parts_of_the_language() -> None:
    """Together they show what a newcomer looks for."""
    texts = " ".join((FOLDER / f"{name}.siddhi").read_text() for name in sample_names())
    parts = (
        "#window.time(", "#window.length(", "#window.timeBatch(", "#window.lengthBatch(",
        "#window.externalTimeBatch(", "#window.session(", "#window.unique:", "define window",
        " join ", "left outer join", "full outer join", "unidirectional", "define table",
        "update or insert into", "\nupdate ", "\ndelete ", "in Price", "->", "<3:5>", "not Shipped",
        "within", ")]+,", "partition with", " as 'deep' or ", "into #", "output first every",
        "output last every", "output snapshot every", "output all every", "define trigger",
        "'start'", "0 0 0 * * ?", "define aggregation", "@OnError", "from !Scan",
        "define function", "@map(type = 'json'", "@source(", "@sink(", "@app:playback",
        "insert expired events", "insert all events", "having", "order by", "group by", "limit",
    )  # fmt: skip
    assert [part for part in parts if part not in texts] == []


@pytest.mark.parametrize("name", sample_names())
def test_is_named_after_its_file(name: str) -> None:
    """hot_rooms.siddhi is the app HotRooms."""
    text = (FOLDER / f"{name}.siddhi").read_text()
    assert check(text).name == name.title().replace("_", "")


def test_are_in_the_page_beside_them() -> None:
    """Each is linked there, with the first line of its text, which says what it shows."""
    page = (FOLDER / "README.md").read_text()
    for name in sample_names():
        about = (FOLDER / f"{name}.siddhi").read_text().split("\n", 1)[0].removeprefix("-- ")
        assert f"| [{name}]({name}.siddhi) | {about.removesuffix('.')} |" in page


def test_are_listed(lockstep: Lockstep) -> None:
    """A name and a line of what it shows each."""
    done = lockstep("samples")
    assert done.exit_code == 0
    for name in sample_names():
        assert f"\n{name} " in f"\n{done.stdout}"
    assert "Absence: something that ought to happen does not." in done.stdout
    listed = json.loads(lockstep("samples", "--json").stdout)
    assert [one["name"] for one in listed] == sample_names()
    assert all(one["tests"] for one in listed)


def test_one_is_shown(lockstep: Lockstep) -> None:
    """Its text as it stands in the file."""
    done = lockstep("samples", "hot_rooms")
    assert done.stdout == (FOLDER / "hot_rooms.siddhi").read_text()


def test_are_copied_with_their_tests_and_pass_there(lockstep: Lockstep, tmp_path: Path) -> None:
    """What is copied is what `lockstep test` runs."""
    out = tmp_path / "apps" / "mine"
    assert lockstep("samples", "postage", "--out", out).exit_code == 0
    assert sorted(file.name for file in out.iterdir()) == ["postage.siddhi", "postage.test"]
    assert lockstep("test", out).exit_code == 0


def test_a_copy_overwrites_nothing(lockstep: Lockstep, tmp_path: Path) -> None:
    """What somebody has changed stays."""
    (tmp_path / "postage.test").write_text("mine")
    done = lockstep("samples", "postage", "--out", tmp_path)
    assert done.exit_code == 2
    assert "postage.test is there already" in done.stderr
    assert (tmp_path / "postage.test").read_text() == "mine"
    assert not (tmp_path / "postage.siddhi").exists()


def test_an_unknown_name_brings_the_nearest(lockstep: Lockstep) -> None:
    """With the exit code of wrong usage."""
    done = lockstep("samples", "hot_roms")
    assert done.exit_code == 2
    assert "there is no sample 'hot_roms'" in done.stderr
    assert "did you mean 'hot_rooms'?" in done.stderr
