"""Partial matches as data: what a token has bound and where it stands (semantics 12.1).

A token looks like a MatchedEvent, so that filters of later states are evaluated on it directly.
"""

from __future__ import annotations

from typing import Final

from lockstep.operators.contract import CURRENT, Kind, PlainState, Slot, StreamEvent

NOWHERE: Final = -1
"""No node, no span, no time."""


class Token:
    """One partial match.

    slots         what is bound, by slot (a slot of a counted state holds a list)
    timestamp_ms  time of the last bound event or passed absence; NOWHERE before the first
    first_ms      time of the first bound event, for `within` (12.2); None before it
    stage         index of the furthest node that bound an event or passed by absence
    owes          number of the `every` span that restarts when this token has passed it, or NOWHERE
    where         index of the absent or logical node it waits at, or NOWHERE
    since_ms      from when on that node's absences count for it
    sides         which sides of a logical node are done or broken, as bits of that node
    alive         False once it matched, was killed or expired
    """

    __slots__ = (
        "alive",
        "first_ms",
        "kind",
        "owes",
        "sides",
        "since_ms",
        "slots",
        "stage",
        "timestamp_ms",
        "where",
    )

    def __init__(self, slots: list[Slot]) -> None:
        self.slots = slots
        self.timestamp_ms = NOWHERE
        self.kind: Kind = CURRENT
        self.first_ms: int | None = None
        self.stage = NOWHERE
        self.owes = NOWHERE
        self.where = NOWHERE
        self.since_ms = NOWHERE
        self.sides = 0
        self.alive = True

    def collected(self, slot: int) -> list[StreamEvent]:
        """The events that a counted state has collected so far; the list itself."""
        held = self.slots[slot]
        if isinstance(held, list):
            return held
        collecting: list[StreamEvent] = []
        self.slots[slot] = collecting
        return collecting

    def restarted(self, first_slot: int, stage: int) -> Token:
        """A copy for `every`: everything from `first_slot` on is unbound again (12.1)."""
        kept = self.slots[:first_slot]
        copy = Token(kept + [None] * (len(self.slots) - first_slot))
        copy.timestamp_ms = self.timestamp_ms
        copy.first_ms = self.first_ms if any(kept) else None
        copy.stage = stage
        return copy


def encode_token(token: Token) -> PlainState:
    """The token as plain values; lists are copied, because the token may go on collecting."""
    slots = [list(slot) if isinstance(slot, list) else slot for slot in token.slots]
    places = (token.stage, token.owes, token.where, token.since_ms, token.sides)
    return (slots, token.timestamp_ms, token.first_ms, places)


def decode_token(state: PlainState) -> Token:
    """The token that `encode_token` described."""
    slots, timestamp_ms, first_ms, places = state
    token = Token([list(slot) if isinstance(slot, (list, tuple)) else slot for slot in slots])
    token.timestamp_ms = timestamp_ms
    token.first_ms = first_ms
    token.stage, token.owes, token.where, token.since_ms, token.sides = places
    return token
