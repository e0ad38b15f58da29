"""cron('expression'): batches at the ticks of a cron expression, on the wall clock (semantics
7.13).
"""

from __future__ import annotations

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.operators.cron import CronSchedule
from lockstep.windows.chunks import WindowBase, batch_chunk
from lockstep.windows.registry import WindowCall


class CronWindow(WindowBase):
    """`[X previous batch][C batch]` at each tick that has collected something; no RESET, not
    findable.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._schedule = CronSchedule(str(call.constant(0)))
        self._open: list[StreamEvent] = []
        self._last: list[StreamEvent] = []

    def process(self, chunk: list[StreamEvent]) -> None:
        """Collects; a timer runs only while there is something to emit."""
        if not self._open:
            due = self._schedule.next_after(self.context.wall_ms())
            if due is None:  # no tick comes any more, and nobody would see what is collected
                return
            self.context.schedule(self, due, wall=True)
        self._open += chunk

    def on_timer(self, due_ms: int) -> None:
        """Emits the batch."""
        previous, self._last, self._open = self._last, self._open, []
        now = self.context.now_ms()
        self.emit(batch_chunk(previous, self._last, now, with_reset=False))

    def snapshot(self) -> PlainState:
        """The last batch and the open one."""
        return (list(self._last), list(self._open))

    def restore(self, state: PlainState) -> None:
        last, collected = state
        self._last, self._open = list(last), list(collected)
