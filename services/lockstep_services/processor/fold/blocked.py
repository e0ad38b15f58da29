"""A standby that cannot fold the next position, for want of memory (see the DESIGN page)."""

from __future__ import annotations

from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standing import RestartReplicaError


async def look_for_others(site: Site, running: Running) -> None:
    """RestartReplicaError when a replica with more memory has gone on: then so does this one,
    behind it. UnavailableError."""
    blocked, generation = running.engine.unfoldable, running.generation
    if blocked is None:
        return
    for one in await site.world.store.revisions.list(*site.name.key):
        if one.verified and one.life == generation.life and one.position >= blocked:
            raise RestartReplicaError(f"another replica has folded position {blocked}")
