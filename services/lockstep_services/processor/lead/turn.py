"""Whose turn it is to ask for the lead, as far as one replica can tell from heartbeats.

All of it is courtesy and lasts a while at most: what is right is the protocol's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lockstep.leader.protocol import facts
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.replica.running import Wanted
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import ACTIVE, defers

PATIENCE_TTLS: Final = 3


class Turn:
    """Of one replica, from its beginning on."""

    def __init__(self, site: Site, wanted: Wanted, lead: Lead) -> None:
        self._site = site
        self._wanted = wanted
        self._lead = lead
        self._clock = site.clock
        self._ttl_ms = site.settings.leader.lease_ttl_ms
        self._began_ms = self._led_ms = self._clock.monotonic_ms()
        self._has_come = False
        self._ready: bool | None = None
        self._deferring = False

    @property
    def patience_ms(self) -> int:
        """How long somebody else is waited for who is meant to lead."""
        return PATIENCE_TTLS * self._ttl_ms

    def has_come(self) -> bool:
        """Whether to ask at all: when an app starts, its preferred node comes first."""
        self._has_come = self._has_come or self._comes()
        return self._has_come

    def defers(self) -> bool:
        """Whether a ready replica lives that the lead is to be left to by one that is not."""
        others = [group for _, group in self._site.others()]
        now_ms = self._clock.monotonic_ms()
        if any(group.role == ACTIVE for group in others):
            self._led_ms = now_ms
        leaderless_ms = now_ms - self._led_ms
        return defers(others, leaderless_ms=leaderless_ms, patience_ms=self.patience_ms)

    def news(self, *, ready: bool) -> Iterator[facts.Fact]:
        """What is new about this replica's rank: whether it is ready, and whether another one is
        to whom it leaves the lead."""
        if (deferring := self.defers()) != self._deferring:
            self._deferring = deferring
            yield facts.DeferenceChanged(deferring)
        if ready != self._ready:
            self._ready = ready
            yield facts.ReadinessChanged(ready)

    def _comes(self) -> bool:
        others = self._site.others()
        preferred = self._wanted.nodes[:1]
        first_ever = self._lead.epoch == 0 and not any(group.role == ACTIVE for _, group in others)
        if first_ever and preferred and preferred[0] in [beat.node for beat, _ in others]:
            return self._clock.monotonic_ms() - self._began_ms > self._ttl_ms
        return True
