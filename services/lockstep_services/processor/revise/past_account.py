"""What a replica says of the past that it folds: how far it is, and what was counted."""

from __future__ import annotations

from msgspec import structs

from lockstep.clock import Clock
from lockstep.control import PAST_FOLDING, PastStatus
from lockstep.events import Position
from lockstep_services.processor.replica.running import Running


class PastAccount:
    """Kept in `running.past`, where heartbeats take it from."""

    def __init__(self, running: Running, clock: Clock, begun: PastStatus) -> None:
        self._running, self._clock = running, clock
        self._began_ms = clock.monotonic_ms()
        running.past = begun

    @property
    def status(self) -> PastStatus:
        """As it is now."""
        past = self._running.past
        assert past is not None
        return structs.replace(past, took_ms=self._clock.monotonic_ms() - self._began_ms)

    def count(self, position: Position, up_to: Position, **more: int) -> None:
        """So many more, up to a position."""
        past = self.status
        counted = {name: getattr(past, name) + count for name, count in more.items()}
        self._running.past = structs.replace(past, position=position, up_to=up_to, **counted)

    def tell(self, phase: str, position: Position, why: str = "") -> None:
        """Another phase."""
        self._running.past = structs.replace(self.status, phase=phase, position=position, why=why)

    def keep(self, position: Position) -> None:
        """From there another leader would go on."""
        self._running.past = structs.replace(self.status, kept_to=position)

    def go_on(self, kept: PastStatus, position: Position) -> None:
        """From what another leader has counted."""
        past = self.status
        self._began_ms -= kept.took_ms
        self._running.past = structs.replace(
            kept, generation=past.generation, phase=PAST_FOLDING, up_to=past.up_to,
            results=past.results, kept_to=position, resumed_from=position,
            resumed_events=kept.events, why="",
        )  # fmt: skip
