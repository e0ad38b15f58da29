"""What an aggregator promises to the selector (semantics 6), and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from lockstep.operators.contract import PlainState
from lockstep.siddhiql.catalogue import Argument


class Aggregator(Protocol):
    """A running value. `add` and `remove` take the call's argument values, null as None."""

    def add(self, *values: Any) -> None:
        """An event came in."""

    def remove(self, *values: Any) -> None:
        """An event that had come in left."""

    def reset(self) -> None:
        """All events left at once (a batch ended)."""

    def value(self) -> Any:
        """The present result."""

    def is_empty(self) -> bool:
        """Whether a fresh aggregator would be the same: then it may be forgotten."""

    def snapshot(self) -> PlainState:
        """The state as plain values."""

    def restore(self, state: PlainState) -> None:
        """Takes over what `snapshot` gave."""


class Fields:
    """An aggregator whose state is some numbers, of which `count` tells whether it is empty."""

    fields: tuple[tuple[str, float], ...] = ()
    """Their names, with what they are in the beginning."""
    __slots__ = ()
    count: int

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        for name, value in self.fields:
            setattr(self, name, value)

    def is_empty(self) -> bool:
        return self.count == 0

    def snapshot(self) -> PlainState:
        return tuple(getattr(self, name) for name, _ in self.fields)

    def restore(self, state: PlainState) -> None:
        for (name, _), value in zip(self.fields, state, strict=True):
            setattr(self, name, value)


class Contents:
    """An aggregator whose state is what is `inside`: a list, unless it says otherwise."""

    __slots__ = ("inside",)

    def __init__(self) -> None:
        self.inside: Any = []

    def reset(self) -> None:
        self.inside.clear()

    def is_empty(self) -> bool:
        return not self.inside

    def snapshot(self) -> PlainState:
        return list(self.inside)

    def restore(self, state: PlainState) -> None:
        self.inside = list(state)


class Copies(Contents):
    """How often each value is present; values stay in the order in which they came."""

    __slots__ = ()

    def __init__(self) -> None:
        self.inside: dict[Hashable, int] = {}

    def take(self, value: Hashable) -> None:
        """One more."""
        self.inside[value] = self.inside.get(value, 0) + 1

    def drop(self, value: Hashable) -> None:
        """One less; a value that is not present is none of ours."""
        left = self.inside.get(value, 0) - 1
        if left > 0:
            self.inside[value] = left
        else:
            self.inside.pop(value, None)

    def snapshot(self) -> PlainState:
        return list(self.inside.items())

    def restore(self, state: PlainState) -> None:
        self.inside = dict(state)


AggregatorFactory = Callable[[Sequence[Argument]], Aggregator]


def growing(make: Callable[[], Any]) -> Callable[[], Any]:
    """A maker of the same aggregators for queries out of which no event ever leaves.

    Those with a method `never_shrinks` are told, so that they keep no more than they need.
    """

    def made() -> Any:
        aggregator = make()
        tell = getattr(aggregator, "never_shrinks", None)
        if tell is not None:
            tell()
        return aggregator

    return made
