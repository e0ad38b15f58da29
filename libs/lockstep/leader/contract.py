"""Leases: who may lead. Liveness only; safety is the output log's check (design invariant 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

PROCESS_ENDS = "."
"""A token is the id of the process that acquired, this, and what is unique in that process."""


# A process may have a thousand of these, and no cycle can be in them: the collector need not look
# (gc=False).
class Lease(msgspec.Struct, frozen=True, gc=False):
    """`holder` may lead `resource` until `expires_at_monotonic_ms` on its own monotonic clock.

    `token` is unique per acquisition: renew and release act only on the acquisition they name.
    """

    resource: str
    holder: str
    token: str
    ttl_ms: int
    expires_at_monotonic_ms: int


class Held(msgspec.Struct, frozen=True, gc=False):
    """Somebody else holds it. Without a `token` it is reserved for `holder`, who is yet to come."""

    holder: str
    token: str

    @property
    def process(self) -> str:
        """The id of the process that holds it; empty where it is not known."""
        process, ends, _ = self.token.partition(PROCESS_ENDS)
        return process if ends else ""


class Renewal(msgspec.Struct, frozen=True):
    """Leases that were renewed together: all but those of `lost` last until
    `expires_at_monotonic_ms` on this process's monotonic clock."""

    expires_at_monotonic_ms: int
    lost: frozenset[str] = frozenset()


class Leases(Protocol):
    """Mutual exclusion with a time limit. Errors: UnavailableError (retryable, unless the lease
    server does not let us in).

    One object stands for one process. `appear` keeps a connection of it open, by which the lease
    server knows that the process lives: the kernel closes it when the process dies.
    """

    @property
    def process(self) -> str:
        """The id of this process; another one after a restart."""

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        """The lease, or who else holds it. Expiry counts from before the request.

        `instead_of` is replaced if it still is the holder, and its process is not connected. Whom a
        lease is reserved for is no holder: no process is known of it yet."""

    async def appear(self) -> None:
        """Connects, and is seen by `connected` until cancelled. UnavailableError when the
        connection closes, or cannot be made."""

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        """Those of them that are connected now."""

    async def renew(self, lease: Lease) -> Lease | None:
        """The prolonged lease, or None when it was lost."""

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        """As `renew`, of many at once, in few requests; all of them live for `ttl_ms` from now on.
        One that ran out is taken again where nobody has taken it since: who was held up gets all of
        them back in one step. The same tuple costs least when it comes again."""

    async def holders(self, resources: Sequence[str]) -> Mapping[str, Held]:
        """Who holds which of them now; those that nobody holds are left out."""

    async def release(self, lease: Lease) -> bool:
        """Gives it back at once; False when it was not ours any more."""

    async def holder(self, resource: str) -> str | None:
        """Who holds it now, for status pages."""

    async def hand_over(self, lease: Lease, to: str) -> bool:
        """Reserves the resource for holder `to` for the rest of the ttl; False when it was lost."""

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """The id of the suite whose lease server this is: `suite` where it is nobody's yet, or
        `instead_of`'s, who is gone. What is noted there has no end."""

    async def healthy(self) -> bool:
        """True when the lease server answers now."""

    async def close(self) -> None:
        """Disconnects; idempotent."""
