"""What `lockstep simulate` refuses before it asks a suite, and how it says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from lockstep.cli.commands.simulate import simulate
from tests.unit.cli.conftest import Lockstep


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of rules and rows, in the folder where somebody is."""
    for name, text in (
        ("rules.json", '{"room": "attic|hall"}'), ("list.json", "[1]"), ("broken.json", "{"),
        ("rows.csv", "attic\n"), ("setup.json", '{"feeds": [{"stream": "S", "csv": "a"}]}'),
        ("wrong.json", '{"feeds": [{"stream": "S", "colour": 1}]}'),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_bytes("caf\xe9\n".encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--random rules.json", "names no stream\nhint: --stream, or --setup"),
        (
            "--stream S",
            "S: says nothing or several things to send\nhint: --random, --csv, or --datasource "
            "with --table or --select\n",
        ),
        ("--stream S --random rules.json --csv rows.csv", "S: says nothing or several things"),
        ("--stream S --random list.json", "list.json: is no object of rules"),
        ("--stream S --random broken.json", "broken.json: is not JSON"),
        ("--stream S --csv latin.csv", "latin.csv: is not UTF-8"),
        ("--stream S --csv rows.csv --for soon", "--for: 'soon' is no duration\nhint: 90s, 5m, 2h"),
        ("--stream S --csv rows.csv --rate 0", "S: 0 events per second"),
        (
            "--stream S --csv rows.csv --speed 2",
            "S: has a speed, and no times\nhint: name the --time-column of its rows\n",
        ),
        (
            "--stream S --csv rows.csv --keep-times",
            "S: keeps times, and has none\nhint: name the --",
        ),
        (
            "--stream S --datasource d",
            "S: asks a database for nothing or for two things\nhint: --table or --select\n",
        ),
        ("--stream S --csv rows.csv --limit 0", "S: --limit is 0"),
        ("--stream S --csv rows.csv --for 0s", "S: --for is 0"),
        ("--setup wrong.json", "set-up: Object contains unknown field `colour`"),
    ],
)
def test_a_wrong_command_line_says_what_is_expected(
    lockstep: Lockstep, folder: Path, words: str, says: str
) -> None:
    """Exit code 2: mend it, do not repeat it."""
    done = lockstep("--directory", folder / "none", "simulate", "Rooms", *words.split())
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"error: {says}"), done.stderr
    assert set(re.findall(r"--[a-z-]+", done.stderr)) <= options()


def options() -> set[str]:
    """Those that the command has."""
    alone = typer.Typer()
    alone.command()(simulate)
    return {option for one in get_command(alone).params for option in one.opts}


def test_what_a_set_up_says_is_named_as_there(lockstep: Lockstep, folder: Path) -> None:
    """Its author has written no options."""
    (folder / "none.json").write_text('{"feeds": [{"stream": "S"}]}')
    done = lockstep("--directory", folder / "none", "simulate", "Rooms", "--setup", "none.json")
    assert "hint: random, csv or database\n" in done.stderr


@pytest.mark.parametrize("words", ["--setup setup.json", "--stream S --csv rows.csv --for 5m"])
def test_a_right_one_goes_on_to_the_suite(lockstep: Lockstep, folder: Path, words: str) -> None:
    """Exit code 3 where there is none."""
    done = lockstep("--directory", folder / "none", "simulate", "Rooms", *words.split())
    assert done.exit_code == 3, done.output
    assert "no suite is running" in done.stderr
