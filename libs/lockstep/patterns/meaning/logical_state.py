"""`a and b`, `a or b`, with absences on either side (semantics 12.4, 12.5; symmetric: 23, 1).

`and` is done when both sides are, `or` with the first. A side that is a stream is done when it
bound an event, a timed absence when its wait has ended, an untimed one as long as no fitting event
came.
"""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.patterns.meaning.absent_state import Waits, following_wait_ms
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.node import Machine, Node
from lockstep.patterns.meaning.token import NOWHERE, Token


@dataclass(frozen=True, slots=True)
class Side:
    """One side. `wait_ms` None is a stream, or an untimed absence when `is_absent`."""

    admission: Admission
    is_absent: bool
    wait_ms: int | None


DONE = (1, 2)
BROKEN = (4, 8)
"""Bits of Token.sides, by side: satisfied; an absence that did not come true."""


class LogicalNode(Node):
    """A logical state in the middle or at the end of the chain.

    `loses_first_side` (@app:compat): an `and` that the side written first completes is no match.
    """

    def __init__(
        self, machine: Machine, index: int, sides: tuple[Side, Side], is_and: bool
    ) -> None:
        super().__init__(machine, index, sides[0].admission.slot)
        self.sides = sides
        self.is_and = is_and
        self.loses_first_side = False
        self._passed = 0
        self._waits = [
            None if side.wait_ms is None else Waits(machine, index, side.wait_ms) for side in sides
        ]

    def arrive(self, token: Token) -> None:
        if token.where != self.index and self.is_taken():
            return
        if token.where != self.index:
            token.sides = 0
        self.arriving.append(token)
        self.again(token)

    def again(self, token: Token) -> None:
        """See Node: waits count from the last event."""
        token.where = self.index
        for waits in self._waits:
            if waits is not None:
                waits.begin(token)

    # --- events ----------------------------------------------------------------------------------

    def take(self, side: int, event: StreamEvent) -> None:
        """See Node. In a sequence a token stays when the event moved it or did not concern it."""
        part = self.sides[side]
        handle = self._absent_came if part.is_absent else self._came
        staying = []
        for token in self.pending:
            if not token.alive or token.where != self.index:
                continue
            bound = None
            if not token.sides & (DONE[side] | BROKEN[side]):
                bound = part.admission.fits(token, event)
            if bound is None:
                if part.is_absent or not self.machine.is_sequence:
                    staying.append(token)
            elif handle(token, side, bound):
                staying.append(token)
        if self.machine.is_sequence:
            self._keep(staying)
        else:
            self.pending = staying

    def _keep(self, staying: list[Token]) -> None:
        """Sequences: tokens that the first side moved are shown to the second one too."""
        self.kept += [token for token in staying if token not in self.kept]
        self.kept = [t for t in self.kept if t.alive and t.where == self.index]

    def _came(self, token: Token, side: int, event: StreamEvent) -> bool:
        """Binds the event; False when the token is through with this node."""
        token.slots[self.sides[side].admission.slot] = event
        token.sides |= DONE[side]
        self.machine.bound(token, self.index, event.timestamp_ms)
        if self.is_and and not self._is_done(token, 1 - side):
            if token.sides & BROKEN[1 - side]:
                token.where = NOWHERE
                self.machine.abandon(token)
                return False
            return True
        self._pass(token, silently=self.loses_first_side and side == 0)
        return False

    def _absent_came(self, token: Token, side: int, event: StreamEvent) -> bool:
        """An event that should not come; False when that is the end of the token."""
        token.sides |= BROKEN[side]
        other = self.sides[1 - side]
        hopeless = self.is_and or (other.is_absent and token.sides & BROKEN[1 - side])
        if hopeless or self.machine.is_sequence:
            token.alive = False
            return False
        return True

    def _is_done(self, token: Token, side: int) -> bool:
        part = self.sides[side]
        if part.is_absent and part.wait_ms is None:
            return not token.sides & BROKEN[side]
        return bool(token.sides & DONE[side])

    def _pass(self, token: Token, *, silently: bool = False) -> None:
        token.where = NOWHERE
        self.machine.complete(token, self.index, silently=silently)

    # --- time ------------------------------------------------------------------------------------

    def on_timer(self, due_ms: int) -> None:
        for side, waits in enumerate(self._waits):
            if waits is None:
                continue
            for token in waits.over(due_ms):
                if not token.sides & (DONE[side] | BROKEN[side]):
                    self._wait_over(token, side, token.since_ms + waits.wait_ms)
        if self._passed > len(self.pending) // 2:
            self.sweep()

    def _wait_over(self, token: Token, side: int, end_ms: int) -> None:
        if self.machine.is_expired(token, end_ms):
            self._passed += 1
            token.where = NOWHERE
            self.machine.abandon(token)
            return
        token.sides |= DONE[side]
        token.stage = self.index  # a counted state in front collects no more
        if not self.is_and or self._is_done(token, 1 - side):
            self._passed += 1
            self.machine.bound(token, self.index, end_ms)
            self._pass(token)

    def sweep(self) -> None:
        self._passed = 0
        self.settle()
        self.pending = [t for t in self.pending if t.alive and t.where == self.index]

    def close(self) -> None:
        before = self.pending
        super().close()
        for token in before:
            if token not in self.pending and token.where == self.index:
                token.where = NOWHERE

    def wants_fresh(self) -> bool:
        """See Node: a half-filled token does not keep the next one from starting."""
        return all(token.first_ms is not None for token in self.pending)

    def restore(self, state: PlainState) -> None:
        waiting = [token for token in self.tokens() if token.where == self.index]
        for waits in self._waits:
            if waits is not None:
                waits.refill(waiting)


class LeadingLogicalNode(LogicalNode):
    """A logical state with an absence at the beginning of the chain.

    Each timed side has one wait for the whole node: it begins with the app, begins anew from every
    fitting event, and once over begins again under `every`. In `or` an ended wait counts only for
    tokens that have been here that long. A fitting event of an untimed absence spoils the attempt:
    it fails when the other side's event comes, and `every` starts anew then.
    """

    renewed = False

    def __init__(
        self, machine: Machine, index: int, sides: tuple[Side, Side], is_and: bool
    ) -> None:
        super().__init__(machine, index, sides, is_and)
        self._waits = [None, None]
        self._dues: list[int | None] = [None, None]

    def start(self) -> None:
        for side, part in enumerate(self.sides):
            if part.wait_ms is not None:
                self._wait_until(side, self.machine.now_ms() + part.wait_ms)

    def _wait_until(self, side: int, due_ms: int) -> None:
        self._dues[side] = due_ms
        self.machine.schedule(due_ms)

    def _absent_came(self, token: Token, side: int, event: StreamEvent) -> bool:
        wait_ms = self.sides[side].wait_ms
        if wait_ms is None:
            token.sides |= BROKEN[side]
        else:
            self._wait_until(side, max(event.timestamp_ms + wait_ms, self._dues[side] or 0))
        return True

    def on_timer(self, due_ms: int) -> None:
        for side, part in enumerate(self.sides):
            end_ms = self._dues[side]
            if end_ms is None or end_ms > due_ms or part.wait_ms is None:
                continue
            self._dues[side] = None
            self.sweep()
            for token in list(self.pending):
                if self.is_and or self._has_waited(token, end_ms - part.wait_ms):
                    self._wait_over(token, side, end_ms)
            self.sweep()
            if self.machine.repeats(self.index):
                now_ms = self.machine.now_ms()
                self._wait_until(side, following_wait_ms(end_ms, part.wait_ms, now_ms))

    def _has_waited(self, token: Token, since_ms: int) -> bool:
        return self.machine.is_sequence or token.timestamp_ms <= since_ms

    def close(self) -> None:
        """See Node; `every`: who waits for time to pass is not disturbed by other events."""
        if self.machine.repeats(self.index):
            resting = [t for t in self.pending if t.alive and t.first_ms is None]
            self.kept = resting + [t for t in self.kept if t not in resting]
        super().close()

    def snapshot(self) -> PlainState:
        return list(self._dues)

    def restore(self, state: PlainState) -> None:
        self._dues = list(state)
