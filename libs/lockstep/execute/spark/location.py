"""Where a state lives: which machine, which Spark executor, which Python worker."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import msgspec


class Location(msgspec.Struct, array_like=True, frozen=True):
    """A Python worker of Spark: process `pid` on `host`, under the Spark executor `executor`.

    `executor` is Spark's id of it, whose JVM is process `executor_pid`; None in local mode, where
    the driver's JVM runs the tasks.
    """

    host: str
    pid: int
    executor: str | None = None
    executor_pid: int | None = None

    @property
    def preference(self) -> str | None:
        """The place as Spark's scheduler spells it; None where there is only one."""
        return None if self.executor is None else f"executor_{self.host}_{self.executor}"

    def __str__(self) -> str:
        where = "" if self.executor is None else f" of executor {self.executor}"
        return f"worker {self.pid}{where} on {self.host}"


def here() -> Location:
    """The location of this worker."""
    return _of_process(os.getpid())


@cache
def _of_process(pid: int) -> Location:
    """Spark does not tell its workers where they are; the executor's command line, two processes up
    (one between them is Spark's Python daemon), does."""
    daemon = os.getppid()
    for each in (parent_of(daemon), daemon):
        words = _command_line(each)
        if "--executor-id" in words and "--hostname" in words:
            host = words[words.index("--hostname") + 1]
            return Location(host, pid, words[words.index("--executor-id") + 1], each)
    return Location(platform.node(), pid)


def _command_line(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return []
    return text.split("\0")


def parent_of(pid: int) -> int:
    """The parent of a process of this machine; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
