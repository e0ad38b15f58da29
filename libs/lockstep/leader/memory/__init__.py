"""Leases inside one process: for unit tests and simulation.

Every MemoryLeases on one LeaseTable competes for the same resources, as on one Redis.
"""

from lockstep.leader.memory.leases import LeaseTable, MemoryLeases

__all__ = ["LeaseTable", "MemoryLeases"]
