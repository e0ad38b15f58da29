"""What this process and its children use, as Linux counts it: the service, its JVM, the Python
workers that the JVM has started, and others (servers that `lockstep run` has started)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lockstep.telemetry import Metrics

PROCESSES: Final = Path("/proc")
SERVICE: Final = "service"
JVM: Final = "jvm"
WORKERS: Final = "workers"
OTHERS: Final = "others"
_PARENT, _USER_TICKS, _SYSTEM_TICKS, _RESIDENT = 1, 11, 12, 21
TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class ProcessLine:
    """A line of /proc/<pid>/stat."""

    name: str
    parent: int
    ticks: int
    resident_bytes: int


@dataclass
class ProcessUsage:
    """`show` reads /proc: to be called when somebody asks, not more often. Where there is no /proc
    it shows nothing."""

    pid: int = field(default_factory=os.getpid)
    processes: Path = PROCESSES
    _ticks: dict[int, int] = field(default_factory=dict)

    def show(self, metrics: Metrics) -> None:
        """Sets the gauges, and adds what was used since the last call."""
        parts = self.family()
        ticks = {pid: process.ticks for pid, (process, _) in parts.items()}
        resident = dict.fromkeys((SERVICE, JVM, WORKERS, OTHERS), 0)
        for pid, (process, part) in parts.items():
            resident[part] += process.resident_bytes
            used = process.ticks - self._ticks.get(pid, 0)
            metrics.count("lockstep_process_cpu_seconds_total", max(0, used) * TICK_S, part=part)
        self._ticks = ticks
        for part, size_bytes in resident.items():
            if part == SERVICE or size_bytes:
                metrics.set("lockstep_process_resident_bytes", size_bytes, part=part)
            else:
                metrics.forget("lockstep_process_resident_bytes", part=part)
        metrics.set("lockstep_process_open_files", self._open_files())

    def family(self) -> dict[int, tuple[ProcessLine, str]]:
        """The process and all that it started, by id, each with the part that it is of."""
        return dict(self._parts(dict(self._running())))

    def _parts(
        self, running: dict[int, ProcessLine]
    ) -> Iterator[tuple[int, tuple[ProcessLine, str]]]:
        children: dict[int, list[int]] = {}
        for pid, process in running.items():
            children.setdefault(process.parent, []).append(pid)
        waiting = [(self.pid, SERVICE)] if self.pid in running else []
        while waiting:
            pid, part = waiting.pop()
            process = running[pid]
            if process.name == "java":
                part = JVM
            yield pid, (process, part)
            # What the JVM starts are Spark's Python workers.
            below = WORKERS if part in (JVM, WORKERS) else OTHERS
            waiting += [(child, below) for child in children.get(pid, ())]

    def _running(self) -> Iterator[tuple[int, ProcessLine]]:
        for entry in self.processes.glob("[0-9]*"):
            try:
                text = (entry / "stat").read_text()
                # The name is in brackets and may hold anything.
                name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
                values = rest.split()
                ticks = int(values[_USER_TICKS]) + int(values[_SYSTEM_TICKS])
                resident_bytes = int(values[_RESIDENT]) * _PAGE_BYTES
                yield (
                    int(entry.name),
                    ProcessLine(name, int(values[_PARENT]), ticks, resident_bytes),
                )
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile

    def _open_files(self) -> int:
        try:
            return len(list((self.processes / str(self.pid) / "fd").iterdir()))
        except OSError:
            return 0
