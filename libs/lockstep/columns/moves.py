"""How the clocks of an app move in a slice of the input log (semantics 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lockstep.columns.column import Longs
from lockstep.operators.limits import EACH_OF_CHUNK, allowed


@dataclass(slots=True)
class Clock:
    """The app's clocks between slices, as the engine has them."""

    now: int = 0
    wall: int = 0
    is_playback: bool = False


@dataclass(frozen=True, eq=False)
class Moves:
    """When the app clock moved: to `clock` at (even) `moments`, ascending in both.

    Timers that are due fire there. `leaps` (playback): they all look at the clock moved to; else
    each looks at its own due time. `before` is the clock in front of the slice. `walls` (playback)
    are the moves of the wall clock. `chunks`: moments and sizes of those chunks of the
    log that have several events (None: there are none).
    """

    moments: Longs
    clock: Longs
    leaps: bool
    before: int
    walls: Moves | None = None
    chunks: tuple[Longs, Longs] | None = None

    @property
    def wall(self) -> Moves:
        """The moves of the wall clock."""
        return self if self.walls is None else self.walls

    def most_rows(self, moments: Longs) -> Longs:
        """How many rows what stands at moments may bring to a place (operators.limits)."""
        of_timer, of_event = allowed(0), allowed(1)
        most = np.where(moments & 1, of_event, of_timer)
        if self.chunks is not None and len(self.chunks[0]):
            at, sizes = self.chunks
            found = np.minimum(np.searchsorted(at, moments), len(at) - 1)
            known = at[found] == moments
            most[known] = of_event + EACH_OF_CHUNK * (sizes[found[known]] - 1)
        return most

    @property
    def last(self) -> int:
        """The clock behind the slice."""
        return int(self.clock[-1]) if len(self.clock) else self.before
