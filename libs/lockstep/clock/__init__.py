"""The only place that reads time or randomness.

Everything else is handed a `Clock` and a `Randomness`, so that a test can own both.
"""

from lockstep.clock.contract import Clock, Randomness
from lockstep.clock.system import SystemClock, SystemRandomness, stopwatch_ns
from lockstep.clock.virtual import SeededRandomness, VirtualClock
from lockstep.clock.waiting import done_before, is_asked_to_end, wait_set

__all__ = [
    "Clock",
    "Randomness",
    "SeededRandomness",
    "SystemClock",
    "SystemRandomness",
    "VirtualClock",
    "done_before",
    "is_asked_to_end",
    "stopwatch_ns",
    "wait_set",
]
