"""Finding server programs: PATH first when new enough, wheels otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.embedded import NoServerError, programs


def _fake_program(directory: Path, name: str, version: str) -> Path:
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{name} v{version}'\n")
    program.chmod(0o700)
    return program


def test_path_wins_when_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed server is used instead of the wheel's."""
    program = _fake_program(tmp_path / "bin", "nats-server", "2.11.3")
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    assert programs.nats_server() == program


def test_old_one_on_path_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server below the minimum is not used."""
    program = _fake_program(tmp_path / "bin", "redis-server", "5.0.9")
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    found = programs.redis_server()
    assert found != program
    version = programs.program_version(found)
    assert version is not None
    assert version >= programs.REDIS_MINIMUM


def test_postgres_of_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without one on PATH the wheel's newest is taken, or the major version that is asked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    newest = programs.program_version(programs.postgres_programs() / "postgres")
    sixteen = programs.program_version(programs.postgres_programs(16) / "postgres")
    assert newest is not None
    assert newest >= (17,)
    assert sixteen is not None
    assert sixteen[0] == 16


def test_missing_version_names_what_is_there() -> None:
    """Data of a version that nobody can run is an error with the versions found."""
    with pytest.raises(NoServerError, match="PostgreSQL 9, which wrote the data; found: 1"):
        programs.postgres_programs(9)
