"""Triggers: `at 'start'`, `at every t`, `at '<cron>'`, on the wall clock (semantics 16)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lockstep.operators.contract import Context, Emit, PlainState, StreamEvent
from lockstep.operators.cron import CronSchedule
from lockstep.siddhiql import ast


class Trigger:
    """Sends `(triggered_time)` to its stream; both times are the app clock."""

    def __init__(self, definition: ast.TriggerDefinition, context: Context, emit: Emit) -> None:
        self._context = context
        self._emit = emit
        self._every_ms = definition.every_ms
        text = definition.expression
        self.is_at_start = text is not None and text.strip().lower() == "start"
        is_cron = text is not None and not self.is_at_start
        self._cron = CronSchedule(text) if is_cron and text is not None else None
        context.register("trigger", self)

    def start(self) -> None:
        """Fires or sets the first timer."""
        if self.is_at_start:
            self._fire()
        else:
            self._set_timer(self._context.wall_ms())

    def on_timer(self, due_ms: int) -> None:
        """Fires and sets the next timer."""
        self._set_timer(due_ms)
        self._fire()

    def _set_timer(self, after_ms: int) -> None:
        due = after_ms + self._every_ms if self._every_ms is not None else self._next(after_ms)
        if due is not None:
            self._context.schedule(self, due, wall=True)

    def _next(self, after_ms: int) -> int | None:
        return None if self._cron is None else self._cron.next_after(after_ms)

    def _fire(self) -> None:
        now = self._context.now_ms()
        self._emit([StreamEvent(now, (now,))])

    def snapshot(self) -> PlainState:
        """Only its timer, which the engine keeps."""
        return None

    def restore(self, state: PlainState) -> None:
        """See snapshot."""


def quiet(starters: Iterable[Callable[[], None]]) -> Iterator[Callable[[], None]]:
    """What starts an app's parts without an event: all but triggers at the start."""
    for start in starters:
        owner = getattr(start, "__self__", None)
        if not (isinstance(owner, Trigger) and owner.is_at_start):
            yield start
