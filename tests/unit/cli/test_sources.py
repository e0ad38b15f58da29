"""lockstep sources: what the file of datasources names, and whether it is there."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lockstep.cli.command import app as command


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of SQLite, of which one is there."""
    file = tmp_path / "datasources.toml"
    file.write_text(
        f'[shop]\nurl = "jdbc:sqlite:{tmp_path}/shop.db"\n'
        f'[gone]\nurl = "sqlite://{tmp_path}/gone.db"\nmax_connections = 2\n'
    )
    monkeypatch.setenv("LOCKSTEP_DATASOURCES__FILE", str(file))
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.execute("CREATE TABLE t (a int)")
    db.close()
    return tmp_path


def test_files_are_listed_and_tried(named: Path) -> None:
    """Trying makes no file, and one that is not there is a failure."""
    runner = CliRunner()
    done = runner.invoke(command, ["sources", "list", "--json"])
    assert done.exit_code == 0, done.output
    assert [(one["name"], one["place"], one["connections"]) for one in json.loads(done.stdout)] == [
        ("shop", f"sqlite://{named}/shop.db", 4),
        ("gone", f"sqlite://{named}/gone.db", 2),
    ]
    done = runner.invoke(command, ["sources", "test", "shop", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["answer"].endswith("journal_mode=delete, tables=1")
    done = runner.invoke(command, ["sources", "test", "--json"])
    assert done.exit_code == 1
    assert "unable to open database file" in json.loads(done.stdout)[1]["answer"]
    assert not (named / "gone.db").exists()
