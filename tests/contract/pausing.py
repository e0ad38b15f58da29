"""Stops processes for a while, as a machine without time for them would."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def paused(pid: int | None, *, children: bool = False) -> Iterator[None]:
    """The process, and its children if wanted, stands still within the block, every thread."""
    assert pid is not None
    pids = [pid, *(_children(pid) if children else [])]
    for each in pids:
        os.kill(each, signal.SIGSTOP)
    try:
        for each in pids:
            _wait_stopped(each)
        yield
    finally:
        for each in pids:
            os.kill(each, signal.SIGCONT)


def _wait_stopped(pid: int) -> None:
    deadline = time.monotonic() + 10
    while not all(_state(task) in "Tt" for task in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < deadline, f"{pid} does not stop"
        time.sleep(0.001)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]
