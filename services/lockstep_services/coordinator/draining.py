"""Which processors shall carry nothing. Every write carries the leading coordinator's epoch."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.store import Store, Written
from lockstep.telemetry import Logger
from lockstep_services.coordinator.desired import MAX_ATTEMPTS, Epoch, raced


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
        for _ in range(MAX_ATTEMPTS):
            outcome = await self._store.deployments.put_drained(
                node, drained=drained, epoch=self._epoch.number
            )
            if isinstance(outcome, Written):
                self._log.info("drained" if drained else "not drained any more", node=node)
                return
            self._epoch.pass_over(outcome.current)
        raise raced(node)
