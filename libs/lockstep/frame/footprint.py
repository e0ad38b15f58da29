"""How much of its host a process takes, with all that it started: for its heartbeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lockstep.clock import Clock
from lockstep.frame.offload import Offload
from lockstep.frame.process_usage import TICK_S, ProcessUsage

EVERY_MS: Final = 5_000
"""How often it is measured: the kernel is asked about all processes of the host."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """None: nobody knows, or not yet. `cpu_percent`: 100 is one core."""

    cpu_percent: int | None = None
    resident_bytes: int | None = None


UNKNOWN: Final = Footprint()


@dataclass
class FootprintMeter:
    """`run` in a supervised task; `last` is at most a few seconds old. It reads on a thread of its
    own, so that nobody waits for the kernel."""

    clock: Clock
    offload: Offload
    usage: ProcessUsage = field(default_factory=ProcessUsage)
    last: Footprint = UNKNOWN
    _ticks: dict[int, int] = field(default_factory=dict)
    _at_ms: int | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.measure()
            await self.clock.sleep_ms(EVERY_MS)

    async def measure(self) -> None:
        """Looks once; processor time is told of what passed since the look before."""
        family = await self.offload.run(self.usage.family)
        now_ms = self.clock.monotonic_ms()
        ticks = {pid: process.ticks for pid, (process, _) in family.items()}
        resident_bytes = sum(process.resident_bytes for process, _ in family.values())
        percent = None
        if self._at_ms is not None and now_ms > self._at_ms:
            used = sum(max(0, each - self._ticks.get(pid, 0)) for pid, each in ticks.items())
            percent = round(100 * used * TICK_S * 1_000 / (now_ms - self._at_ms))
        self.last = Footprint(percent, resident_bytes) if family else UNKNOWN
        self._ticks, self._at_ms = ticks, now_ms
