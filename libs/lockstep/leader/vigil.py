"""Which processes have died, as far as their connections to the lease server tell. Pure.

A wrong guess is harmless, as the output log decides who publishes; it only moves the lead for
nothing. So whoever turns out to live is not taken for dead again for a while.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, field


@dataclass
class _Process:
    """`seen`: over the observer's present connection. `dead`: since when it counts as dead."""

    seen: bool = False
    missing_ms: int | None = None
    dead_ms: int | None = None
    distrusted_ms: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """What one look brought."""

    dead: frozenset[str]
    newly_dead: frozenset[str]
    returned: frozenset[str]


@dataclass
class Vigil:
    """Kept by one process. A process is dead that was seen connected and is not for `grace_ms`.

    What is seen counts only while the observer is connected itself, without a break: a lease server
    that has just started has no connections at all. Who was dead and is there again is trusted no
    more for `distrust_ms`; so long the dead are remembered.
    """

    own: str
    grace_ms: int
    distrust_ms: int
    _connection: int = -1
    _known: dict[str, _Process] = field(default_factory=dict)

    def asks_about(self, watched: Set[str]) -> frozenset[str]:
        """Whom to look for; itself always."""
        dead = {name for name, one in self._known.items() if one.dead_ms is not None}
        return frozenset({self.own, *watched, *dead})

    def observe(
        self, now_ms: int, connection: int, watched: Set[str], connected: Collection[str]
    ) -> Observed:
        """A look at who is connected; `connection` counts the observer's own."""
        if connection != self._connection or self.own not in connected:
            self._begin_anew()
            self._connection = connection
        asked = self.asks_about(watched) - {self.own}
        newly: set[str] = set()
        returned: set[str] = set()
        if self.own in connected:
            for name in asked:
                one = self._known.setdefault(name, _Process())
                if name in connected:
                    if one.dead_ms is not None:
                        returned.add(name)
                        one.distrusted_ms = now_ms + self.distrust_ms
                    one.seen, one.missing_ms, one.dead_ms = True, None, None
                elif self._has_died(one, now_ms):
                    newly.add(name)
        self._forget(now_ms, watched)
        dead = {name for name, one in self._known.items() if one.dead_ms is not None}
        return Observed(frozenset(dead & watched), frozenset(newly), frozenset(returned))

    def _has_died(self, one: _Process, now_ms: int) -> bool:
        """Just now, as it seems."""
        if not one.seen or one.dead_ms is not None or now_ms < one.distrusted_ms:
            return False
        if one.missing_ms is None:
            one.missing_ms = now_ms
        if now_ms - one.missing_ms < self.grace_ms:
            return False
        one.dead_ms = now_ms
        return True

    def _begin_anew(self) -> None:
        for one in self._known.values():
            one.seen, one.missing_ms = False, None

    def _forget(self, now_ms: int, watched: Set[str]) -> None:
        """Whom nobody waits for, and who is not to be remembered."""
        for name, one in list(self._known.items()):
            lasts_ms = one.distrusted_ms
            if one.dead_ms is not None:
                lasts_ms = one.dead_ms + self.distrust_ms
            if name not in watched and now_ms >= lasts_ms:
                del self._known[name]
