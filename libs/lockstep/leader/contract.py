"""Leases: who may lead. Liveness only; safety is the output log's check (design invariant 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """`holder` may lead `resource` until `expires_at_monotonic_ms` on its own monotonic clock.

    `token` is unique per acquisition: renew and release act only on the acquisition they name.
    """

    resource: str
    holder: str
    token: str
    ttl_ms: int
    expires_at_monotonic_ms: int


class Leases(Protocol):
    """Mutual exclusion with a time limit. Errors: UnavailableError (retryable)."""

    async def acquire(self, resource: str, holder: str, *, ttl_ms: int) -> Lease | None:
        """The lease, or None when somebody else holds it. Expiry counts from before the request."""

    async def renew(self, lease: Lease) -> Lease | None:
        """The prolonged lease, or None when it was lost."""

    async def release(self, lease: Lease) -> bool:
        """Gives it back at once; False when it was not ours any more."""

    async def holder(self, resource: str) -> str | None:
        """Who holds it now, for status pages."""

    async def hand_over(self, lease: Lease, to: str) -> bool:
        """Reserves the resource for holder `to` for the rest of the ttl; False when it was lost."""

    async def healthy(self) -> bool:
        """True when the lease server answers now."""

    async def close(self) -> None:
        """Disconnects; idempotent."""
