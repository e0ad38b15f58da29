"""FootprintMeter: what a process takes of its host, with all that it started."""

from __future__ import annotations

import os
from pathlib import Path

from lockstep.clock import VirtualClock
from lockstep.frame.footprint import UNKNOWN, FootprintMeter
from lockstep.frame.offload import InlineOffload
from lockstep.frame.process_usage import ProcessUsage

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def _write(folder: Path, pid: int, parent: int, ticks: int, pages: int) -> None:
    (folder / str(pid)).mkdir(exist_ok=True)
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", *["0"] * 8, str(pages), "0"]
    (folder / str(pid) / "stat").write_text(f"{pid} (java) {' '.join(fields)}")


def _meter(folder: Path, clock: VirtualClock) -> FootprintMeter:
    return FootprintMeter(clock, InlineOffload(), ProcessUsage(10, folder))


async def test_counts_the_process_and_all_that_it_started(tmp_path: Path) -> None:
    """Memory at once; processor time of what passed between two looks, 100 being one core."""
    clock = VirtualClock()
    meter = _meter(tmp_path, clock)
    assert meter.last == UNKNOWN
    _write(tmp_path, 10, 1, 1_000, 3)
    _write(tmp_path, 11, 10, 2_000, 5)
    _write(tmp_path, 99, 1, 5_000, 7)
    await meter.measure()
    assert (meter.last.cpu_percent, meter.last.resident_bytes) == (None, 8 * PAGE_BYTES)
    await clock.advance_ms(2_000)
    _write(tmp_path, 10, 1, 1_000 + TICKS_PER_S, 3)
    _write(tmp_path, 11, 10, 2_000 + 2 * TICKS_PER_S, 6)
    _write(tmp_path, 12, 11, TICKS_PER_S, 1)
    _write(tmp_path, 99, 1, 9_000, 7)
    await meter.measure()
    assert (meter.last.cpu_percent, meter.last.resident_bytes) == (200, 10 * PAGE_BYTES)


async def test_a_child_that_ended_takes_nothing_away(tmp_path: Path) -> None:
    """Nor does one that has its number now, and has used less."""
    clock = VirtualClock()
    meter = _meter(tmp_path, clock)
    _write(tmp_path, 10, 1, 100, 1)
    _write(tmp_path, 11, 10, 5_000, 1)
    await meter.measure()
    await clock.advance_ms(1_000)
    _write(tmp_path, 11, 10, 1, 1)
    await meter.measure()
    assert meter.last.cpu_percent == 0


async def test_where_nobody_counts_nothing_is_told(tmp_path: Path) -> None:
    """As on systems without /proc."""
    meter = _meter(tmp_path, VirtualClock())
    await meter.measure()
    await meter.measure()
    assert meter.last == UNKNOWN


async def test_says_something_of_this_process() -> None:
    """The kernel's own numbers are read."""
    meter = FootprintMeter(VirtualClock(), InlineOffload())
    await meter.measure()
    assert (meter.last.resident_bytes or 0) > 1_000_000
