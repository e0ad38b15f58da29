"""What an aggregator promises to the selector (semantics 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
