"""How tokens move along the chain, and the copies that `every` puts back (semantics 12.1)."""

from __future__ import annotations

from lockstep.operators.contract import Context, MatchedEvent, Slot, TimerTarget
from lockstep.patterns.meaning.ageing import Ageing
from lockstep.patterns.meaning.chain import Chain
from lockstep.patterns.meaning.spans import Span
from lockstep.patterns.meaning.stream_state import StreamNode
from lockstep.patterns.meaning.token import NOWHERE, Token
from lockstep.siddhiql.checked import CheckedPattern


class Progress:
    """The machine that nodes talk to (node.Machine). `matches` fills up until somebody takes it."""

    def __init__(self, pattern: CheckedPattern, context: Context, target: TimerTarget) -> None:
        self.is_sequence = pattern.input.is_sequence
        self.in_event = False
        self.failure: BaseException | None = None
        within_ms = pattern.input.within_ms
        self.ageing = None if within_ms is None else Ageing(within_ms)
        self._context = context
        self._target = target
        self._slots = len(pattern.states)
        self._matches: list[MatchedEvent] = []
        chain = Chain(pattern, self, context)
        self.nodes = chain.nodes
        self.leaves = chain.leaves
        self._spans = chain.spans
        self._opens: dict[int, int] = {span.first: n for n, span in enumerate(self._spans)}
        self._closes: dict[int, Span] = {
            span.last: span for span in self._spans if not span.is_optional
        }

    def bound(self, token: Token, index: int, timestamp_ms: int) -> None:
        token.stage = index
        token.timestamp_ms = timestamp_ms
        if token.first_ms is None and any(token.slots):
            token.first_ms = timestamp_ms
            if self.ageing is not None:
                self.ageing.add(token)
        if token.owes != NOWHERE and self._spans[token.owes].last < index:
            self._restart(token, self._spans[token.owes])

    def complete(self, token: Token, index: int, *, silently: bool = False) -> None:
        span = self._closes.get(index)
        if span is not None and token.owes != NOWHERE:
            self._restart(token, span)
        if index + 1 < len(self.nodes):
            self._enter(token, index + 1)
            return
        token.alive = False
        if not silently:
            self._matches.append(MatchedEvent(token.timestamp_ms, token.slots))

    def extended(self, token: Token, index: int) -> None:
        if token.where == index + 1:
            self.nodes[index + 1].again(token)

    def take_matches(self) -> list[MatchedEvent]:
        """What has been completed since the last call."""
        matches = self._matches
        if matches:
            self._matches = []
        return matches

    def repeats(self, index: int) -> bool:
        return index in self._opens

    def abandon(self, token: Token) -> None:
        token.alive = False
        if token.owes != NOWHERE and self._spans[token.owes].first == 0:
            self._restart(token, self._spans[token.owes])

    def fresh(self) -> Token:
        slots: list[Slot] = [None] * self._slots
        token = Token(slots)
        token.owes = self._opens.get(0, NOWHERE)
        return token

    def waits_for_one_event(self, index: int) -> bool:
        return index + 1 < len(self.nodes) and isinstance(self.nodes[index + 1], StreamNode)

    def is_expired(self, token: Token, now_ms: int) -> bool:
        return self.ageing is not None and self.ageing.is_expired(token, now_ms)

    def schedule(self, due_ms: int) -> None:
        self._context.schedule(self._target, due_ms)

    def now_ms(self) -> int:
        return self._context.now_ms()

    def _enter(self, token: Token, index: int) -> None:
        if index in self._opens:
            token.owes = self._opens[index]
        self.nodes[index].arrive(token)

    def _restart(self, token: Token, span: Span) -> None:
        """A copy goes back in front of the span; the token itself owes nothing any more."""
        token.owes = NOWHERE
        first = self.nodes[span.first]
        if self.is_sequence and first.renewed:
            return
        copy = token.restarted(first.first_slot, span.first - 1)
        if self.ageing is not None and copy.first_ms is not None:
            self.ageing.add(copy)
        self._enter(copy, span.first)
