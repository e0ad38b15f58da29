"""What an aggregator promises to the selector (semantics 6), and what several of them share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from lockstep.operators.contract import PlainState
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument


class Aggregator(Protocol):
    """A running value. `add` and `remove` take the call's argument values, null as None."""

    @abstractmethod
    def add(self, *values: Any) -> None:
        """An event came in."""

    @abstractmethod
    def remove(self, *values: Any) -> None:
        """An event that had come in left."""

    @abstractmethod
    def reset(self) -> None:
        """All events left at once (a batch ended)."""

    @abstractmethod
    def value(self) -> Any:
        """The present result."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether a fresh aggregator would be the same: then it may be forgotten."""

    @abstractmethod
    def snapshot(self) -> PlainState:
        """The state as plain values."""

    @abstractmethod
    def restore(self, state: PlainState) -> None:
        """Takes over what `snapshot` gave."""


class Debt:
    """A value that has left without having come: that of an event which stands behind its own
    expired copy (semantics 7.14). Where it comes next it is not present.

    Only what comes next pays, so that an aggregator that missed an event is soon right again.
    """

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.count = 0
        self.value: Any = None

    def owe(self, value: Any) -> None:
        """A value leaves that is not present."""
        self.count = self.count + 1 if self.count and self.value == value else 1
        self.value = value

    def pays(self, value: Any) -> bool:
        """Whether a value that comes has left already."""
        if self.count and self.value == value:
            self.count -= 1
            return True
        self.count = 0
        return False

    def saved(self) -> list[tuple[Any, int]]:
        """As a value with its copies, fewer than none."""
        return [(self.value, -self.count)] if self.count else []

    def take_out(self, copies: dict[Any, int]) -> None:
        """Takes over what `saved` gave, which is among the copies."""
        owed = [value for value, count in copies.items() if count < 0]
        self.count = 0
        for value in owed:
            self.value, self.count = value, -copies.pop(value)


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

    __slots__ = ("_debt",)

    def __init__(self) -> None:
        self.inside: dict[Hashable, int] = {}
        self._debt = Debt()

    def take(self, value: Hashable) -> None:
        """One more."""
        if not (self._debt.count and self._debt.pays(value)):
            self.inside[value] = self.inside.get(value, 0) + 1

    def drop(self, value: Hashable) -> None:
        """One less."""
        left = self.inside.get(value, 0) - 1
        if left < 0:
            self._debt.owe(value)
            return
        self._debt.count = 0
        if left > 0:
            self.inside[value] = left
        else:
            del self.inside[value]

    def reset(self) -> None:
        super().reset()
        self._debt.count = 0

    def is_empty(self) -> bool:
        return not self.inside and not self._debt.count

    def snapshot(self) -> PlainState:
        return [*self.inside.items(), *self._debt.saved()]

    def restore(self, state: PlainState) -> None:
        self.inside = {java.key(value): copies for value, copies in state}
        self._debt.take_out(self.inside)


AggregatorFactory = Callable[[Sequence[Argument]], Aggregator]


def growing(make: Callable[[], Any]) -> Callable[[], Any]:
    """A maker of the same aggregators for queries out of which no event ever leaves.

    Those with a method `never_shrinks` are told, so that they keep no more than they need.
    """

    def made() -> Any:
        aggregator = make()
        tell_growing(aggregator)
        return aggregator

    return made


def tell_growing(aggregator: Any) -> None:
    """Tells it that no event ever leaves, if it wants to know."""
    tell = getattr(aggregator, "never_shrinks", None)
    if tell is not None:
        tell()
