"""Who leads: leases (liveness) and the pure protocol of claims and permits (safety)."""

from lockstep.leader.contract import Lease, Leases

__all__ = ["Lease", "Leases"]
