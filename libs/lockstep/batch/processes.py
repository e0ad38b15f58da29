"""Processes that run what others wrote: what they get to see, how much they take, how they end."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PASSED_ON: Final = (
    "PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "JAVA_HOME", "TMPDIR",
    "SPARK_LOCAL_IP", "PYSPARK_PYTHON",
)  # fmt: skip


def surroundings() -> dict[str, str]:
    """The environment of such a process: nothing secret is in it."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"TZ": "UTC"}


def session_of(leader: int) -> list[int]:
    """The living processes of a session, however they have grouped themselves."""
    return [pid for pid, session in _sessions() if session == leader]


def resident_bytes(leader: int) -> int:
    """That the processes of a session hold; pages that several share count once each."""
    return sum(map(_resident, session_of(leader)))


def end_session(leader: int) -> None:
    """Kills all of a session; those that are gone already are no matter."""
    for pid in session_of(leader):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _sessions() -> Iterator[tuple[int, int]]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                # The name stands in brackets, and may hold anything.
                fields = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                yield int(path.name), int(fields[3])


def _resident(pid: int) -> int:
    """As the kernel shares it out among those who share it, where it tells that."""
    for name, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = Path(f"/proc/{pid}/{name}").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(key):
                return int(line.split()[1]) * 1_024
    return 0
