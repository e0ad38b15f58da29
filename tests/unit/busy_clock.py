"""A clock for what happens where a process gets too little processor time."""

from __future__ import annotations

from lockstep.clock import VirtualClock


class BusyClock(VirtualClock):
    """Of a process that is held up: it wakes so much later than it wanted to."""

    late_ms = 0

    async def sleep_ms(self, duration_ms: int) -> None:
        """See Clock."""
        await super().sleep_ms(duration_ms + self.late_ms)
