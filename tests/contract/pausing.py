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
    stopped = [pid]
    try:
        _stop(pid)
        if children:  # looked for now: whoever stands still neither gets nor buries children
            stopped += _children(pid)
            for child in stopped[1:]:
                _stop(child)
        yield
    finally:
        for each in reversed(stopped):  # the parent last: it buries children that have ended
            os.kill(each, signal.SIGCONT)


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while running := [task for task in Path(f"/proc/{pid}/task").iterdir() if _runs(task)]:
        assert time.monotonic() < deadline, f"{running} do not stop: {_state(running[0])}"
        time.sleep(0.001)


def _runs(task: Path) -> bool:
    """One that has ended already, and is not buried, never comes to a stop."""
    return _state(task) not in "TtZXx"


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in found.split()]
