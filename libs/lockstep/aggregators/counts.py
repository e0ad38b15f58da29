"""count, distinctCount, and, or, unionSet: aggregators that count what is there (semantics 6)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from lockstep.aggregators.contract import Aggregator
from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument


class Count:
    """count() and count(x): events, whether x is null or not."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add(self, *values: Any) -> None:
        """See Aggregator."""
        self._count += 1

    def remove(self, *values: Any) -> None:
        """See Aggregator."""
        self._count -= 1

    def reset(self) -> None:
        """See Aggregator."""
        self._count = 0

    def value(self) -> int:
        """See Aggregator."""
        return self._count

    def is_empty(self) -> bool:
        """See Aggregator."""
        return self._count == 0

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return self._count

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self._count = state


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
        """See Aggregator."""
        self.counts.clear()

    def is_empty(self) -> bool:
        """See Aggregator."""
        return not self.counts

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return list(self.counts.items())

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self.counts = dict(state)


def _identity(value: Any) -> Hashable:
    """NaN is one value although it equals nothing; -0.0 is another than 0.0, as in Java."""
    if isinstance(value, float) and (value != value or value == 0.0):
        return repr(value)
    return value  # type: ignore[no-any-return]


class DistinctCount(Copies):
    """How many different values; null is one."""

    __slots__ = ()

    def add(self, value: Any) -> None:
        """See Aggregator."""
        self.take(_identity(value))

    def remove(self, value: Any) -> None:
        """See Aggregator."""
        self.drop(_identity(value))

    def value(self) -> int:
        """See Aggregator."""
        return len(self.counts)


class UnionSet(Copies):
    """The members of all sets that are present, as a set of its own."""

    __slots__ = ()

    def add(self, members: Iterable[Any] | None) -> None:
        """See Aggregator."""
        for member in _members(members):
            self.take(member)

    def remove(self, members: Iterable[Any] | None) -> None:
        """See Aggregator."""
        for member in _members(members):
            self.drop(member)

    def value(self) -> frozenset[Any]:
        """See Aggregator."""
        return frozenset(self.counts)


def _members(members: Any) -> Iterable[Any]:
    if members is None:
        return ()
    if not isinstance(members, (set, frozenset)):
        raise EventError(f"unionSet wants a set, not a {type(members).__name__}")
    return members


class _Truths:
    """How many true and how many false values are present; null is refused."""

    __slots__ = ("_falses", "_trues")

    def __init__(self) -> None:
        self.reset()

    def add(self, value: bool | None) -> None:
        """See Aggregator."""
        self._count(value, 1)

    def remove(self, value: bool | None) -> None:
        """See Aggregator."""
        self._count(value, -1)

    def _count(self, value: bool | None, step: int) -> None:
        if value is None:
            raise EventError("and/or take no null", hint="use default(x, false)")
        if value:
            self._trues += step
        else:
            self._falses += step

    def reset(self) -> None:
        """See Aggregator."""
        self._trues = 0
        self._falses = 0

    def is_empty(self) -> bool:
        """See Aggregator."""
        return self._trues == 0 and self._falses == 0

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return (self._trues, self._falses)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self._trues, self._falses = state


class AllTrue(_Truths):
    """and(b): false when nothing is left."""

    __slots__ = ()

    def value(self) -> bool:
        """See Aggregator."""
        return self._trues > 0 and self._falses == 0


class AnyTrue(_Truths):
    """or(b)."""

    __slots__ = ()

    def value(self) -> bool:
        """See Aggregator."""
        return self._trues > 0


def build_count(arguments: Sequence[Argument]) -> Aggregator:
    """count()."""
    return Count()


def build_distinct_count(arguments: Sequence[Argument]) -> Aggregator:
    """distinctCount(x)."""
    return DistinctCount()


def build_union_set(arguments: Sequence[Argument]) -> Aggregator:
    """unionSet(s)."""
    return UnionSet()


def build_and(arguments: Sequence[Argument]) -> Aggregator:
    """and(b)."""
    return AllTrue()


def build_or(arguments: Sequence[Argument]) -> Aggregator:
    """or(b)."""
    return AnyTrue()
