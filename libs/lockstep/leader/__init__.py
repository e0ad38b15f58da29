"""Who leads: leases (liveness) and the pure protocol of claims and permits (safety)."""

from lockstep.leader.contract import Held, Lease, Leases, Renewal

__all__ = ["Held", "Lease", "Leases", "Renewal"]
