"""`e1=S[f]`: one event of a stream (semantics 12.1; 13 for adjacency)."""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.node import Machine, Node


class StreamNode(Node):
    """Each waiting token that the event fits binds it and moves on; in patterns the others stay."""

    def __init__(self, machine: Machine, index: int, admission: Admission) -> None:
        super().__init__(machine, index, admission.slot)
        self._admission = admission

    def take(self, side: int, event: StreamEvent) -> None:
        """See Node: all tokens are tried, oldest first (12.1 rule 8)."""
        pending = self.pending
        if not pending:
            return
        machine, fits, slot = self.machine, self._admission.fits, self._admission.slot
        staying = []
        for token in pending:
            if not token.alive or token.stage >= self.index:
                continue
            bound = fits(token, event)
            if bound is None:
                staying.append(token)
                continue
            token.slots[slot] = bound
            machine.bound(token, self.index, event.timestamp_ms)
            machine.complete(token, self.index)
        if len(staying) != len(pending):
            self.pending = staying
