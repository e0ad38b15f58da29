"""Who leads: leases (liveness) and the pure protocol of claims and permits (safety)."""

from lockstep.leader.contract import Held, Lease, Leases

__all__ = ["Held", "Lease", "Leases"]
