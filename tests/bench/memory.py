"""Peak memory and processor time of a process and everything it started: Python and JVM apart."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from lockstep.embedded import EmbeddedServers

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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


def forget_peaks_of(pids: Iterable[int]) -> None:
    """Peaks of these processes and what they started are counted from now on."""
    for root in pids:
        for pid in family(root):
            try:
                Path(f"/proc/{pid}/clear_refs").write_text("5")
            except OSError:
                continue


def forget_peaks() -> None:
    """The same for this process."""
    forget_peaks_of([os.getpid()])


def peak_mib(root: int | None = None) -> dict[str, int]:
    """Peak resident memory in MiB, of the JVM and of all Python processes together."""
    peaks = {"jvm": 0, "python": 0}
    for pid in family(root or os.getpid()):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        peaks["jvm" if name == "java" else "python"] += _peak_kib(pid)
    return {kind: kib // 1024 for kind, kib in peaks.items()}


def resident_mib(root: int) -> int:
    """Resident memory of a process and what it started, now."""
    pages = 0
    for pid in family(root):
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def proportional_mib(root: int) -> int:
    """The same, with pages that several processes share (forked workers do) counted once."""
    kib = 0
    for pid in family(root):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib // 1024


def threads(root: int) -> int:
    """Threads of a process and what it started."""
    found = 0
    for pid in family(root):
        with contextlib.suppress(OSError):
            found += len(list(Path(f"/proc/{pid}/task").iterdir()))
    return found


def servers_of(servers: EmbeddedServers) -> dict[str, int]:
    """The process ids of the servers that were started here."""
    ours = {"nats": servers.nats, "redis": servers.redis, "postgres": servers.postgres}
    return {name: one.pid for name, one in ours.items() if one is not None and one.pid is not None}


def cpu_seconds(root: int) -> float:
    """Processor time that a process and its living children have used so far."""
    ticks = 0
    for pid in family(root):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_PER_S


def family(root: int) -> list[int]:
    """A process and everything it started."""
    children = _children()
    family, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        family.append(pid)
        waiting += children.get(pid, [])
    return family
