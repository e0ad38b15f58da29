"""What a type of source or sink says of how often it delivers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Delivery(StrEnum):
    """How often a message arrives when processes, connections and servers end in the midst of it.

    For a source: in the app. For a sink: on the other side.
    """

    EXACTLY_ONCE = "exactly once"
    IDENTIFIED = "at least once, with identity"
    """What comes again bears the same identity, so the other side can tell."""
    AT_LEAST_ONCE = "at least once"
    AT_MOST_ONCE = "at most once"


@dataclass(frozen=True)
class Promise:
    """What a type of source or sink keeps to: `delivery` where `where` holds, or always; else the
    first of `between` whose condition holds; else `otherwise`.

    In few words what happens: `reconnect`, when a side or the connection was gone; `poison`, with
    what cannot be read or is refused; `pressure`, when the taking side is slower; `repeat`, with
    what comes again.
    """

    delivery: Delivery
    reconnect: str
    poison: str
    pressure: str
    repeat: str
    where: str = ""
    otherwise: Delivery | None = None
    between: tuple[tuple[Delivery, str], ...] = ()

    def __str__(self) -> str:
        if self.otherwise is None:
            return self.delivery
        steps = ((self.delivery, self.where), *self.between)
        return ", else ".join([*(f"{one} {where}" for one, where in steps), self.otherwise])
