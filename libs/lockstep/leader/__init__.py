"""Who leads: leases (liveness) and the pure protocol of claims and permits (safety)."""

from lockstep.leader.contract import Lease, Leases
from lockstep.leader.opening import open_leases

__all__ = [
    "Lease",
    "Leases",
    "open_leases",
]
