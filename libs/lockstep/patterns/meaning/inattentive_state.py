"""The leading absence of Siddhi 5.1, for apps that ask for it (@app:compat; semantics 23, 3)."""

from __future__ import annotations

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.patterns.meaning.absent_state import LeadingAbsentNode
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.node import Machine


class InattentiveAbsentNode(LeadingAbsentNode):
    """After a fitting event no other one is seen until the timer that was running has fired.

    The event moves the end of the wait; the timer, when it fires before that end, is set to it.
    """

    def __init__(self, machine: Machine, index: int, admission: Admission, wait_ms: int) -> None:
        super().__init__(machine, index, admission, wait_ms)
        self._timer_ms: int | None = None
        self._is_deaf = False

    def _wait_until(self, due_ms: int) -> None:
        super()._wait_until(due_ms)
        if not self._is_deaf:
            self._timer_ms = due_ms

    def take(self, side: int, event: StreamEvent) -> None:
        """See Node; the first fitting event makes deaf for the next ones."""
        if self._is_deaf:
            self.kept = self.pending if self.machine.is_sequence else []
            return
        timer_ms, due_ms = self._timer_ms, self._due_ms
        super().take(side, event)
        if self._due_ms != due_ms:
            self._timer_ms, self._is_deaf = timer_ms, True

    def on_timer(self, due_ms: int) -> None:
        if self._timer_ms is None or self._timer_ms > due_ms:
            return
        self._is_deaf, self._timer_ms = False, self._due_ms
        super().on_timer(due_ms)

    def snapshot(self) -> PlainState:
        return (self._due_ms, self._timer_ms, self._is_deaf)

    def restore(self, state: PlainState) -> None:
        self._due_ms, self._timer_ms, self._is_deaf = state
