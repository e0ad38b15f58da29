"""Whether one replica could publish if it led: it reaches the bus, and folds what is next."""

from __future__ import annotations

from lockstep_services.processor.replica.hearing import patience_ms
from lockstep_services.processor.replica.replica import Replica


class Fitness:
    """Who is not fit gives away the lead that it has or is about to take, and asks for no other."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._site = replica.site
        self._lease_ttl_ms = replica.site.settings.leader.lease_ttl_ms

    @property
    def is_fit(self) -> bool:
        """As of now."""
        return not (self._is_deaf or self._replica.reach.is_outdone)

    def why_not(self) -> str:
        """Also said in the replica's trouble and its log, as the lead goes away."""
        if self._is_deaf:
            silent_ms = self._site.hearing.silent_ms
            self._replica.trouble.text = f"the bus has not answered for {silent_ms} ms"
            self._site.log.error("isolated from the bus", silent_ms=silent_ms)
            return "cut off for too long"
        blocked = self._replica.running.engine.unfoldable
        self._site.log.error("outdone", unfoldable=blocked)
        return f"another replica has published position {blocked}, which this one cannot fold"

    @property
    def _is_deaf(self) -> bool:
        """The bus has been silent for longer than this replica waits for it."""
        standby = self._replica.running.wanted.standby
        return self._site.hearing.is_deaf(patience_ms(standby, self._lease_ttl_ms))
