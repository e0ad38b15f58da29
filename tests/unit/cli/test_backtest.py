"""`lockstep backtest` that stops, and shows the state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Lockstep
from tests.unit.history.test_stopping import TEXT, archived_into


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text whose input is archived."""
    archived_into(tmp_path / "archive")
    monkeypatch.setenv("LOCKSTEP_ARCHIVE__FOLDER", str(tmp_path / "archive"))
    file = tmp_path / "stops.siddhi"
    file.write_text(TEXT)
    return file


def test_where_a_query_first_gives_a_row(lockstep: Lockstep, app: Path) -> None:
    """What came, what it gave, and what is held then."""
    done = lockstep("backtest", app, "--watch", "high")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == "stopped: position 52, 2023-11-14T22:14:11.000Z, behind 52 events"
    assert lines[1].startswith('what came: {"position": 52, "clock_ms": 1700000051000, ')
    assert lines[2] == 'what it gave: 2023-11-14T22:14:11.000Z ["k0", 51]'
    held = [line.split(maxsplit=5) for line in lines if line.startswith("window/Newest")]
    assert held[1] == [
        "window/Newest/window",
        "2",
        "of",
        "2",
        "2023-11-14T22:14:11.000Z",
        '["k0", 51]',
    ]


def test_at_a_time_for_programs(lockstep: Lockstep, app: Path) -> None:
    """One JSON document."""
    done = lockstep("backtest", app, "--until", "2023-11-14T22:13:25Z", "--rows", 1, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["position"], found["came"], found["gave"]) == (5, None, [])
    (window,) = [one for one in found["state"] if one["part"] == "window/Newest/window"]
    assert (window["count"], window["events"]) == (2, [[1_700_000_004_000, ["k1", 4]]])


def test_a_query_that_gives_nothing(lockstep: Lockstep, app: Path) -> None:
    """Is said, behind the state; exit code 1."""
    done = lockstep("backtest", app, "--watch", "high", "--to", "2023-11-14T22:13:25Z")
    assert done.exit_code == 1
    assert "stopped: position 5, " in done.stdout
    assert done.stderr == "error: 'high' gave no row\n"


@pytest.mark.parametrize(
    "more",
    [["--against", "running"], ["--parallel", 2], ["--until", "2026-01-01", "--to", "2026-01-01"]],
)
def test_what_does_not_go_with_a_stop(lockstep: Lockstep, app: Path, more: list[object]) -> None:
    """Nothing runs."""
    done = lockstep("backtest", app, "--watch", "high", *more)
    assert done.exit_code == 2
    assert "a run that stops goes without" in " ".join(done.stderr.split())
