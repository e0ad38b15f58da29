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
        self.restore(tuple(value for _, value in self.fields))

    def is_empty(self) -> bool:
        return self.count == 0

    def snapshot(self) -> PlainState:
        return tuple(getattr(self, name) for name, _ in self.fields)

    def restore(self, state: PlainState) -> None:
        for (name, _), value in zip(self.fields, state, strict=True):
            setattr(self, name, value)


class Copies:
    """How often each value is present; values stay in the order in which they came."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[Hashable, int] = {}

    def take(self, value: Hashable) -> None:
        """One more."""
        self.counts[value] = self.counts.get(value, 0) + 1

    def drop(self, value: Hashable) -> None:
        """One less; a value that is not present is none of ours."""
        left = self.counts.get(value, 0) - 1
        if left > 0:
            self.counts[value] = left
        else:
            self.counts.pop(value, None)

    def reset(self) -> None:
        self.counts.clear()

    def is_empty(self) -> bool:
        return not self.counts

    def snapshot(self) -> PlainState:
        return list(self.counts.items())

    def restore(self, state: PlainState) -> None:
        self.counts = dict(state)


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
