"""`e1=S[f]<m:n>` and the `+ * ?` of sequences: a state that collects (semantics 12.3, 13).

From m events on the same token also stands in front of the next state; it goes on collecting until
that binds or n is reached. As the last state it is done at m.
"""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from lockstep.operators.limits import check_group
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.node import Machine, Node
from lockstep.patterns.meaning.token import Token


class CountNode(Node):
    """A collecting state. `maximum` None is unbounded."""

    def __init__(
        self,
        machine: Machine,
        index: int,
        admission: Admission,
        minimum: int,
        maximum: int | None,
    ) -> None:
        super().__init__(machine, index, admission.slot)
        self._admission = admission
        self.minimum = minimum
        self.maximum = maximum
        # `<2>` of `a a a b` must be able to begin at the second a while the first collects. With m
        # below 2 the oldest token holds all that a younger one could (semantics 13).
        self.exclusive = minimum < 2 or maximum is None

    @property
    def is_optional(self) -> bool:
        return self.minimum == 0

    def arrive(self, token: Token) -> None:
        """See Node; with m = 0 the next state is armed at once (12.3)."""
        if self.minimum == 0:
            self.machine.complete(token, self.index)
        if token.alive and not self.is_taken():
            self.arriving.append(token)

    def is_taken(self) -> bool:
        """See Node; the token that goes on collecting is the older one."""
        return super().is_taken() or bool(self.kept and self.exclusive)

    def take(self, side: int, event: StreamEvent) -> None:
        if not self.pending:
            return
        staying: list[Token] = []
        opens = False
        for token in self.pending:
            if not token.alive or token.stage > self.index:
                opens = opens or self._opens_next(token)
                continue
            collects = self._collect(token, event)
            if collects and self._is_through(token):
                continue
            if collects or not self.machine.is_sequence:
                staying.append(token)
        if not self.machine.is_sequence:
            self.pending = staying
            return
        self.kept = staying[:1] if self.exclusive else staying
        if opens and not staying:
            fresh = self.machine.fresh()
            if self._collect(fresh, event) and not self._is_through(fresh):
                self.kept.append(fresh)

    def _opens_next(self, token: Token) -> bool:
        """Sequences, `every` with m = 0: what moved the token on may also begin the next match.

        Always when the token was empty; a token that has collected must have been completed by a
        single event.
        """
        if self.index != 0 or self.minimum != 0 or not self.machine.repeats(0):
            return False
        return not token.slots[self.first_slot] or self.machine.waits_for_one_event(0)

    def wants_fresh(self) -> bool:
        """See Node: `every` does not start anew while the oldest token collects."""
        return not (self.exclusive and self.pending)

    def _is_through(self, token: Token) -> bool:
        """True when the token matched, or has n events."""
        if not token.alive:
            return True
        return self.maximum is not None and len(token.collected(self.first_slot)) >= self.maximum

    def _collect(self, token: Token, event: StreamEvent) -> bool:
        """Binds the event if it fits, and tells the machine."""
        bound = self._admission.fits(token, event)
        if bound is None:
            return False
        collected = token.collected(self.first_slot)
        collected.append(bound)
        check_group(len(collected), "a count of a pattern")
        machine = self.machine
        machine.bound(token, self.index, event.timestamp_ms)
        if machine.is_sequence:
            if len(collected) >= self.minimum:
                machine.complete(token, self.index)
        elif len(collected) == self.minimum:
            machine.complete(token, self.index)
        elif len(collected) > self.minimum:
            machine.extended(token, self.index)
        return True
