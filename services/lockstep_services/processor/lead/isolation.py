"""Whether one replica is cut off from the bus."""

from __future__ import annotations

from lockstep_services.processor.replica.hearing import patience_ms
from lockstep_services.processor.replica.replica import Replica


class Isolation:
    """Says why it is, in the replica's trouble and its log."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._site = replica.site
        self._lease_ttl_ms = replica.site.settings.leader.lease_ttl_ms

    @property
    def is_deaf(self) -> bool:
        """The bus has been silent for longer than this replica waits for it."""
        standby = self._replica.running.wanted.standby
        return self._site.hearing.is_deaf(patience_ms(standby, self._lease_ttl_ms))

    def is_cut_off(self) -> bool:
        """It has to give the lead away, which it has or is about to take."""
        if not (self.is_deaf and self._replica.lead.promoted.is_set()):
            return False
        silent_ms = self._site.hearing.silent_ms
        self._replica.trouble.text = f"the bus has not answered for {silent_ms} ms"
        self._site.log.error("isolated from the bus", silent_ms=silent_ms)
        return True
