"""Playback with idle time: when nothing comes for `idle` of wall time the app clock jumps ahead by
`increment`, again and again (semantics 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep.operators.contract import PlainState
from lockstep.siddhiql import ast
from lockstep.siddhiql.durations import duration_ms

if TYPE_CHECKING:
    from lockstep.operators.runtime.engine import Engine


class Playback:
    """Moves the app clock of an idle playback app; without idle time it does nothing."""

    def __init__(self, engine: Engine, annotation: ast.Annotation | None) -> None:
        self._engine = engine
        self._idle_ms: int | None = None
        self._increment_ms = 0
        self._due_ms = 0
        if annotation is not None:
            idle, increment = annotation.get("idle.time"), annotation.get("increment")
            if idle is not None and increment is not None:
                self._idle_ms, self._increment_ms = duration_ms(idle), duration_ms(increment)
        engine.register("playback", self)

    def switch(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Turns playback on (the clock waits for the first event) or off, while the app runs."""
        engine = self._engine
        if on and not engine.is_playback:
            engine.now = 0
        engine.is_playback = on
        self._idle_ms = idle_ms if on and increment_ms is not None else None
        self._increment_ms = increment_ms or 0
        if on:
            self.alive()
        else:
            engine.now = max(engine.now, engine.wall)

    def alive(self) -> None:
        """An event came: the idle time starts anew."""
        if self._idle_ms is not None:
            self._due_ms = self._engine.wall + self._idle_ms
            self._engine.wall_timers.add(self, self._due_ms)

    def on_timer(self, due_ms: int) -> None:
        """Nothing came for the idle time, if this is the last timer asked for."""
        if self._idle_ms is None or due_ms != self._due_ms:
            return
        self._due_ms = due_ms + self._idle_ms
        self._engine.wall_timers.add(self, self._due_ms)
        self._engine.move_app(self._engine.now + self._increment_ms)

    def snapshot(self) -> PlainState:
        """The settings of the moment and when the idle time ends."""
        return (self._idle_ms, self._increment_ms, self._due_ms)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        self._idle_ms, self._increment_ms, self._due_ms = state
