"""Which processors shall carry nothing. Every write carries the leading coordinator's epoch."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.store import Store
from lockstep.telemetry import Logger
from lockstep_services.coordinator.desired import Epoch


class Drains:
    """Of all processors. Kept until they are taken back, whoever leads and whatever restarts."""

    def __init__(self, store: Store, epoch: Epoch, log: Logger) -> None:
        self._store = store
        self._epoch = epoch
        self._log = log

    async def drained(self) -> Sequence[str]:
        """By name."""
        return await self._store.deployments.drained()

    async def put(self, node: str, *, drained: bool) -> None:
        """From now on; Problem when it raced."""
        put = self._store.deployments.put_drained
        await self._epoch.write(node, lambda epoch: put(node, drained=drained, epoch=epoch))
        self._log.info("drained" if drained else "not drained any more", node=node)
