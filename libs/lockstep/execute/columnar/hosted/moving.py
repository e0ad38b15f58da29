"""The clock of a hosted engine on its way through a slice."""

from __future__ import annotations

from lockstep.columns.labels import Levels, firing_of
from lockstep.columns.moves import Moves
from lockstep.execute.columnar.hosted.engine import HostedEngine


class Moving:
    """The clock on its way through a slice: moves of the wall clock, and in playback those of the
    app's."""

    def __init__(self, engine: HostedEngine, moves: Moves) -> None:
        self._engine = engine
        engine.begin(moves)
        engine.wall = max(engine.wall, moves.wall.before)
        engine.now = max(engine.now, moves.before)
        parts = [(moves.wall, True)]
        if engine.is_playback:
            parts.append((moves, False))
        self._moves = sorted(
            (moment, clock, wall)
            for each, wall in parts
            for moment, clock in zip(each.moments.tolist(), each.clock.tolist(), strict=True)
        )
        self._next = 0
        self._behind: Levels = ()

    def to(self, moment: int, levels: Levels) -> None:
        """Everything in front of a place."""
        moves = self._moves
        while self._next < len(moves) and moves[self._next][0] < moment:
            self._finish()
        if self._next == len(moves) or moves[self._next][0] != moment:
            return
        # What comes is itself a timer's: ours that are due before that one go first.
        engine = self._engine
        _, clock, wall = moves[self._next]
        if not wall:
            engine.now = max(engine.now, clock)
        engine.fire(moment, clock, self._behind, levels, wall=wall)
        self._behind = firing_of(levels)
        if wall:
            engine.reach(levels[0])

    def _finish(self) -> None:
        moment, clock, wall = self._moves[self._next]
        engine = self._engine
        if not wall:
            engine.now = max(engine.now, clock)
        engine.fire(moment, clock, self._behind, None, wall=wall)
        if wall:
            engine.reach(clock)
        self._behind = ()
        self._next += 1

    def to_the_end(self) -> None:
        """The moves that are left."""
        while self._next < len(self._moves):
            self._finish()
