"""A bus inside one process: for unit tests, simulation and `lockstep test`; nothing survives it.

Every MemoryBus on one MemoryCarrier sees the same logs, as processes on one server would.
"""

from lockstep.bus.memory.bus import MemoryBus
from lockstep.bus.memory.carrier import MemoryCarrier

__all__ = ["MemoryBus", "MemoryCarrier"]
