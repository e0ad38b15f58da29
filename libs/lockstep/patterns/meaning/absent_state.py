"""`not S[f] for t` standing alone: passed when t went by without such an event (semantics 12.5).

The wait of a token counts from its last bound event or tick. At the beginning of the chain it
counts from the start of the app and anew from every fitting event (semantics 23, 3). Elsewhere a
fitting event kills the token.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Final

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.node import Machine, Node
from lockstep.patterns.meaning.token import NOWHERE, Token

MAX_CATCH_UP_WAITS: Final = 1000
"""How many waits of a repeating absence one leap of the clock makes up for. A longer leap is a
clock being set (playback jumps from 0 to today), not time that went by: waits begin anew then."""


def following_wait_ms(due_ms: int, wait_ms: int, now_ms: int) -> int:
    """The end of the wait that follows the one which ended at `due_ms`."""
    if now_ms - due_ms > MAX_CATCH_UP_WAITS * wait_ms:
        return now_ms + wait_ms
    return due_ms + wait_ms


class Waits:
    """When the waits of tokens inside a chain end, soonest first; outdated entries are skipped."""

    def __init__(self, machine: Machine, index: int, wait_ms: int) -> None:
        self._machine = machine
        self._index = index
        self.wait_ms = wait_ms
        self._heap: list[tuple[int, int, Token]] = []
        self._order = count()

    def begin(self, token: Token) -> None:
        """The token's wait counts from its last event or tick, or from now if it has none."""
        is_new = token.timestamp_ms == NOWHERE
        token.since_ms = self._machine.now_ms() if is_new else token.timestamp_ms
        due_ms = token.since_ms + self.wait_ms
        heapq.heappush(self._heap, (due_ms, next(self._order), token))
        self._machine.schedule(due_ms)

    def over(self, due_ms: int) -> list[Token]:
        """Takes out the tokens whose wait has ended by `due_ms`, each once: who collected several
        events at one time stands here several times."""
        ended: dict[int, Token] = {}
        while self._heap and self._heap[0][0] <= due_ms:
            end_ms, _, token = heapq.heappop(self._heap)
            waits = token.alive and token.where == self._index
            if waits and token.since_ms + self.wait_ms == end_ms:
                ended.setdefault(id(token), token)
        return list(ended.values())

    def refill(self, tokens: list[Token]) -> None:
        """After a restore: the engine has put the timers back already."""
        self._heap = [(t.since_ms + self.wait_ms, next(self._order), t) for t in tokens]
        heapq.heapify(self._heap)


class AbsentNode(Node):
    """A timed absence in the middle or at the end of the chain."""

    def __init__(self, machine: Machine, index: int, admission: Admission, wait_ms: int) -> None:
        super().__init__(machine, index, admission.slot)
        self._admission = admission
        self._waits = Waits(machine, index, wait_ms)
        self._passed = 0

    def arrive(self, token: Token) -> None:
        """See Node; in a sequence a token that still collects comes again, and waits anew."""
        if token.where != self.index and self.is_taken():
            return
        self.arriving.append(token)
        self.again(token)

    def again(self, token: Token) -> None:
        """See Node: the wait counts from the last event."""
        token.where = self.index
        self._waits.begin(token)

    def take(self, side: int, event: StreamEvent) -> None:
        staying = []
        for token in self.pending:
            if not token.alive or token.where != self.index:
                continue
            if self._admission.fits(token, event) is None:
                staying.append(token)
            else:
                token.alive = False
        self.pending = staying
        # In a sequence an event of the absent stream that does not fit disturbs nobody who waits.
        if self.machine.is_sequence:
            self.kept = staying

    def on_timer(self, due_ms: int) -> None:
        """See Node: the token passes with the time at which its wait ended."""
        machine = self.machine
        ended = self._waits.over(due_ms)
        for token in ended:
            end_ms = token.since_ms + self._waits.wait_ms
            token.where = NOWHERE
            if machine.is_expired(token, end_ms):
                machine.abandon(token)
                continue
            machine.bound(token, self.index, end_ms)
            machine.complete(token, self.index)
        self._passed += len(ended)
        if self._passed > len(self.pending) // 2:
            self.sweep()

    def sweep(self) -> None:
        self._passed = 0
        self.settle()
        self.pending = [t for t in self.pending if t.alive and t.where == self.index]

    def close(self) -> None:
        before = self.pending
        super().close()
        for token in before:
            if token not in self.pending:
                token.where = NOWHERE

    def restore(self, state: PlainState) -> None:
        self._waits.refill([t for t in self.tokens() if t.where == self.index])


class LeadingAbsentNode(Node):
    """A timed absence at the beginning of the chain: one wait for the whole node."""

    renewed = False

    def __init__(self, machine: Machine, index: int, admission: Admission, wait_ms: int) -> None:
        super().__init__(machine, index, admission.slot)
        self._admission = admission
        self._wait_ms = wait_ms
        self._due_ms: int | None = None

    def start(self) -> None:
        self._wait_until(self.machine.now_ms() + self._wait_ms)

    def _wait_until(self, due_ms: int) -> None:
        self._due_ms = due_ms
        self.machine.schedule(due_ms)

    def arrive(self, token: Token) -> None:
        """See Node; a restarted token waits from the time it comes from."""
        super().arrive(token)
        if token.timestamp_ms != NOWHERE:
            now_ms = self.machine.now_ms()
            self._wait_until(following_wait_ms(token.timestamp_ms, self._wait_ms, now_ms))

    def take(self, side: int, event: StreamEvent) -> None:
        """See Node: a fitting event starts the wait anew; it ends a sequence without `every`."""
        self.kept = self.pending if self.machine.is_sequence else []
        if not self.pending or self._admission.fits(self.pending[0], event) is None:
            return
        if self.machine.is_sequence and not self.machine.repeats(self.index):
            self.pending = self.kept = []
            return
        self._wait_until(max(event.timestamp_ms + self._wait_ms, self._due_ms or 0))

    def on_timer(self, due_ms: int) -> None:
        self.settle()
        if self._due_ms is None or self._due_ms > due_ms or not self.pending:
            return
        end_ms, self._due_ms = self._due_ms, None
        passing, self.pending = self.pending, []
        for token in passing:
            self.machine.bound(token, self.index, end_ms)
            self.machine.complete(token, self.index)

    def close(self) -> None:
        """See Node; `every`: who waits for time to pass is not disturbed by other events."""
        if self.machine.repeats(self.index):
            self.kept = self.pending
        super().close()

    def snapshot(self) -> PlainState:
        return self._due_ms

    def restore(self, state: PlainState) -> None:
        self._due_ms = state
