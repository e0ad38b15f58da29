"""Which offsets may be committed: those behind which nothing is under way."""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(slots=True)
class _Progress:
    told: int  # the next offset as it was last committed, or as it was at the beginning
    seen: int = -1
    under_way: set[int] = field(default_factory=set)

    @property
    def next(self) -> int:
        """Where somebody else would have to go on."""
        return min(self.under_way, default=self.seen + 1)


class Offsets:
    """Of the partitions that one consumer reads."""

    def __init__(self) -> None:
        self._places: dict[Place, _Progress] = {}

    def begin(self, place: Place, offset: int) -> None:
        """A record was read."""
        progress = self._places.setdefault(place, _Progress(offset))
        progress.under_way.add(offset)
        progress.seen = max(progress.seen, offset)

    def end(self, place: Place, offset: int) -> None:
        """It is durable."""
        self._places[place].under_way.discard(offset)

    def take_ended(self) -> dict[Place, int]:
        """What to commit, as the next offset to read; each progress is told once."""
        moved = {}
        for place, progress in self._places.items():
            if progress.next > progress.told:
                moved[place] = progress.told = progress.next
        return moved
