"""How the clocks of an app move in a slice of the input log (semantics 2)."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.columns.column import Longs


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
    are the moves of the wall clock.
    """

    moments: Longs
    clock: Longs
    leaps: bool
    before: int
    walls: Moves | None = None

    @property
    def wall(self) -> Moves:
        """The moves of the wall clock."""
        return self if self.walls is None else self.walls

    @property
    def last(self) -> int:
        """The clock behind the slice."""
        return int(self.clock[-1]) if len(self.clock) else self.before
