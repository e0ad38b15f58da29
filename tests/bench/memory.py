"""Peak memory of this process and everything it started: Python and JVM together."""

from __future__ import annotations

import os
from pathlib import Path


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        found.setdefault(parent, []).append(int(entry.name))
    return found


def _peak_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) if lines else 0


def forget_peaks() -> None:
    """Peaks are counted from now on."""
    for pid in _family():
        try:
            Path(f"/proc/{pid}/clear_refs").write_text("5")
        except OSError:
            continue


def peak_mib() -> dict[str, int]:
    """Peak resident memory in MiB, of the JVM and of all Python processes together."""
    peaks = {"jvm": 0, "python": 0}
    for pid in _family():
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        peaks["jvm" if name == "java" else "python"] += _peak_kib(pid)
    return {kind: kib // 1024 for kind, kib in peaks.items()}


def _family() -> list[int]:
    children = _children()
    family, waiting = [], [os.getpid()]
    while waiting:
        pid = waiting.pop()
        family.append(pid)
        waiting += children.get(pid, [])
    return family
