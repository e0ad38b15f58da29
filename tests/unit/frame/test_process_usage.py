"""ProcessUsage: what a process and its children use, told apart by part."""

from __future__ import annotations

from pathlib import Path

from lockstep.frame.process_usage import ProcessUsage
from lockstep.telemetry import MetricName, Metrics

CPU: MetricName = "lockstep_process_cpu_seconds_total"
MEMORY: MetricName = "lockstep_process_resident_bytes"


def _write(folder: Path, pid: int, name: str, parent: int, ticks: int, pages: int) -> None:
    (folder / str(pid)).mkdir(exist_ok=True)
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", *["0"] * 8, str(pages), "0"]
    (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}")


def test_tells_service_jvm_and_workers_apart(tmp_path: Path) -> None:
    """The children of the JVM are Spark's workers, and a stranger is none of ours."""
    _write(tmp_path, 10, "python (a) b", 1, 200, 3)
    _write(tmp_path, 11, "java", 10, 300, 5)
    _write(tmp_path, 12, "python", 11, 400, 7)
    _write(tmp_path, 13, "python", 12, 500, 11)
    _write(tmp_path, 14, "nats-server", 10, 600, 13)
    _write(tmp_path, 99, "python", 1, 900, 17)
    metrics = Metrics()
    ProcessUsage(10, tmp_path).show(metrics)
    seconds = [metrics.value(CPU, part=p) for p in ("service", "jvm", "workers", "others")]
    assert [each / seconds[0] for each in seconds] == [1, 1.5, 4.5, 3]
    pages = [metrics.value(MEMORY, part=p) for p in ("service", "jvm", "workers", "others")]
    assert [each / pages[0] * 3 for each in pages] == [3, 5, 18, 13]


def test_processor_time_never_falls(tmp_path: Path) -> None:
    """A worker that ends takes nothing away, and its successor adds what it used."""
    usage, metrics = ProcessUsage(10, tmp_path), Metrics()
    _write(tmp_path, 10, "python", 1, 100, 1)
    _write(tmp_path, 11, "java", 10, 100, 1)
    _write(tmp_path, 12, "python", 11, 400, 1)
    usage.show(metrics)
    before = metrics.value(CPU, part="workers")
    (tmp_path / "12" / "stat").unlink()
    usage.show(metrics)
    assert metrics.value(CPU, part="workers") == before
    assert metrics.value(MEMORY, part="workers") == 0
    _write(tmp_path, 13, "python", 11, 100, 1)
    usage.show(metrics)
    assert metrics.value(CPU, part="workers") == before * 1.25


def test_says_something_of_this_process() -> None:
    """The kernel's own numbers are read."""
    metrics = Metrics()
    ProcessUsage().show(metrics)
    assert metrics.value(MEMORY, part="service") > 1_000_000
    assert metrics.value("lockstep_process_open_files") > 0
