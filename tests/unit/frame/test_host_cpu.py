"""How busy a host is."""

from __future__ import annotations

from pathlib import Path

from lockstep.frame import HostCpu


def test_each_reading_is_about_the_time_since_the_last(tmp_path: Path) -> None:
    """Idle time and waiting for disks count as rest."""
    counters = tmp_path / "stat"
    counters.write_text("cpu 100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n")
    cpu = HostCpu(counters)
    counters.write_text("cpu 150 0 125 710 115 0 0 0 0 0\n")
    assert cpu.percent() == 75
    assert cpu.percent() == 0
    counters.write_text("cpu 150 0 125 810 115 0 0 0 0 0\n")
    assert cpu.percent() == 0


def test_a_host_that_does_not_count(tmp_path: Path) -> None:
    """It is taken for idle."""
    assert HostCpu(tmp_path / "missing").percent() == 0
