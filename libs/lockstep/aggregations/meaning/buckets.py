"""The buckets of one granularity: by start, groups by key in order of first appearance."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lockstep.aggregations.meaning.columns import State
from lockstep.operators.contract import PlainState
from lockstep.plan import java

Group = tuple[Any, ...]


class Buckets:
    """Group states by bucket start, and the starts in order. `new` makes a state, `loaded` one of
    what a snapshot has."""

    def __init__(self, new: Callable[[], State], loaded: Callable[[State], State]) -> None:
        self._new = new
        self._loaded = loaded
        self._starts: list[int] = []
        self._groups: dict[int, dict[Group, State]] = {}

    def state(self, start_ms: int, group: Group) -> State:
        """The group's state in that bucket, made when it is not there."""
        groups = self._groups.get(start_ms)
        if groups is None:
            groups = self._groups[start_ms] = {}
            if self._starts and start_ms < self._starts[-1]:
                insort(self._starts, start_ms)
            else:
                self._starts.append(start_ms)
        state = groups.get(group)
        if state is None:
            state = groups[group] = self._new()
        return state

    def find(self, start_ms: int, end_ms: int, group: Group | None) -> Iterator[tuple[int, State]]:
        """(bucket start, state) of start_ms <= bucket < end_ms, of one group or of all."""
        low, high = bisect_left(self._starts, start_ms), bisect_left(self._starts, end_ms)
        for start in self._starts[low:high]:
            groups = self._groups[start]
            if group is None:
                for state in groups.values():
                    yield start, state
            elif group in groups:
                yield start, groups[group]

    @property
    def newest(self) -> int | None:
        """Where the latest bucket starts."""
        return self._starts[-1] if self._starts else None

    def before(self, end_ms: int) -> Iterator[tuple[int, Iterable[Group]]]:
        """(start, groups) of the buckets that start earlier, oldest first."""
        for start in self._starts[: bisect_left(self._starts, end_ms)]:
            yield start, self._groups[start]

    def purge(self, before_ms: int) -> None:
        """Drops the buckets that start earlier."""
        count = bisect_left(self._starts, before_ms)
        for start in self._starts[:count]:
            del self._groups[start]
        del self._starts[:count]

    def snapshot(self) -> PlainState:
        """(start, [(group, state)]) in order."""
        return [
            (start, [(group, _copied(state)) for group, state in self._groups[start].items()])
            for start in self._starts
        ]

    def restore(self, state: PlainState) -> None:
        self._starts = [start for start, _ in state]
        self._groups = {
            start: {
                group: self._loaded(_copied(saved)) for group, saved in by_group(groups).items()
            }
            for start, groups in state
        }


def by_group(saved: Iterable[tuple[Any, State]]) -> dict[Group, State]:
    """The saved groups of a bucket by key. States from before NaN was one key may have several of
    it: new events go into the first, and the others stay what they are."""
    found: dict[Group, State] = {}
    for group, state in saved:
        key = java.key(tuple(group))
        found[tuple(group) if key in found else key] = state
    return found


def _copied(state: State) -> State:
    """A state that shares no set with the original; in a set NaN is one value."""
    return [set(map(java.key, value)) if isinstance(value, set) else value for value in state]
