"""What the states of a pattern have in common: who waits there, and what they ask of the pattern.

Tokens that came during the present event stand in `arriving` and are tried from the next event of
the state's streams on: one event fills one state per token (semantics 12.1 rule 7).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.patterns.meaning.token import Token


class Machine(Protocol):
    """What a state may ask of the pattern that it belongs to.

    in_event: an event is being played (else a tick, or the beginning).
    failure: the first error of a condition since somebody took it.
    """

    is_sequence: bool
    in_event: bool
    failure: BaseException | None

    def bound(self, token: Token, index: int, timestamp_ms: int) -> None:
        """The node bound an event (or its absence passed) at that time."""

    def complete(self, token: Token, index: int, *, silently: bool = False) -> None:
        """The node is satisfied: the token is offered to the next one, or matches.

        `silently`: the last node's token is over, but no match (a defect of Siddhi 5.1).
        """

    def extended(self, token: Token, index: int) -> None:
        """A counted node that was satisfied before collected one event more."""

    def repeats(self, index: int) -> bool:
        """Whether an `every` begins at the node."""

    def abandon(self, token: Token) -> None:
        """The token dies; an `every` at the beginning that it has not passed yet starts anew."""

    def fresh(self) -> Token:
        """A token with nothing bound, for the first node."""

    def waits_for_one_event(self, index: int) -> bool:
        """Whether the node behind `index` is filled by a single event of a stream."""

    def is_expired(self, token: Token, now_ms: int) -> bool:
        """Whether the token is too old by `within` (12.2)."""

    def schedule(self, due_ms: int) -> None:
        """Asks for `on_timer(due_ms)` of all nodes."""

    def now_ms(self) -> int:
        """The app clock."""


class Node(ABC):
    """One element of the chain.

    exclusive  in sequences one token at a time comes here, the oldest (semantics 13)
    renewed    in sequences under `every` an empty token is put here for each event; else a copy
               comes back when a token has passed, as in patterns
    """

    exclusive = True
    renewed = True

    def __init__(self, machine: Machine, index: int, first_slot: int) -> None:
        self.machine = machine
        self.index = index
        self.first_slot = first_slot
        self.pending: list[Token] = []
        self.arriving: list[Token] = []
        self.kept: list[Token] = []

    @property
    def is_optional(self) -> bool:
        """True when a token may pass without any event."""
        return False

    def start(self) -> None:  # noqa: B027 (most states have no wait)
        """The app (or partition instance) starts: waits of a leading absence begin."""

    def arrive(self, token: Token) -> None:
        """The token comes to wait here."""
        if not self.is_taken():
            self.arriving.append(token)

    def again(self, token: Token) -> None:  # noqa: B027
        """A token that waits here has collected one event more in front of this node."""

    def is_taken(self) -> bool:
        """In a sequence: whether an older token has come already."""
        if not (self.machine.is_sequence and self.exclusive):
            return False
        return bool(self.arriving or (self.pending and not self.machine.in_event))

    def settle(self) -> None:
        """What came since the last event is now tried."""
        if self.arriving:
            self.pending += self.arriving
            self.arriving = []

    @abstractmethod
    def take(self, side: int, event: StreamEvent) -> None:
        """An event of the stream of one of the node's sides (0, or 1 of a logical node)."""

    def on_timer(self, due_ms: int) -> None:  # noqa: B027
        """A requested time has come; others' requests are heard as well."""

    def close(self) -> None:
        """Sequences: the event is over; who did not advance is gone."""
        came = [token for token in self.arriving if token not in self.kept]
        self.pending = self.kept + came
        self.kept = []
        self.arriving = []

    def wants_fresh(self) -> bool:
        """Sequences: whether the next event needs an empty token here (`every`)."""
        return not self.pending

    def sweep(self) -> None:
        """Forgets tokens that are over or past this node."""
        self.settle()
        self.pending = [t for t in self.pending if t.alive and t.stage <= self.index]

    def tokens(self) -> Iterable[Token]:
        """Everybody who waits here."""
        yield from self.pending
        yield from self.arriving

    def snapshot(self) -> PlainState:
        """The node's own state, without the tokens."""
        return None

    def restore(self, state: PlainState) -> None:  # noqa: B027
        """Takes back what `snapshot` gave; the tokens are in place already."""
