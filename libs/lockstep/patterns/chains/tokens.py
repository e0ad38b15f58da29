"""The partial matches of a chain, as arrays: what waits at which state, by partition instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.patterns.chains import kernel as matching
from lockstep.patterns.conditions import Comparison

FAR = np.int64(1) << 62
_ARRAYS = ("_first", "following", "_alive")


class TokenValues:
    """What tokens of a chain of `states` have bound, and what later states compare with: a column
    per token; see kernels.matching for the arrays. Subclasses know who waits where."""

    def __init__(self, states: int, comparisons: Sequence[Comparison]) -> None:
        self.states = states
        count = len(comparisons)
        floating = ("float", "double")
        self.compare = matching.Comparisons(
            np.array([c.state for c in comparisons], np.int64),
            np.array([c.bound.slot for c in comparisons], np.int64),
            np.array([c.operator for c in comparisons], np.int64),
            np.array([c.type.value in floating for c in comparisons], np.bool_),
        )
        self.texts = [i for i, c in enumerate(comparisons) if c.type.value == "string"]
        self.refs = np.full((states - 1, 0), -1, np.int64)
        self.held = matching.Values(
            *(np.zeros((count, 0), dtype) for dtype in (np.int64, np.float64, np.bool_))
        )

    @property
    def alive(self) -> Any:
        """Which tokens wait somewhere."""
        raise NotImplementedError

    @property
    def first(self) -> Longs:
        """When each token bound its first event."""
        raise NotImplementedError

    def widen(self, capacity: int) -> None:
        """Makes room for so many tokens."""
        self.refs = _wider(self.refs, capacity, 0)
        self.held = matching.Values(*(_wider(values, capacity, 0) for values in self.held))

    def ends(self, free: Longs, free_count: int, new: int) -> matching.Ends:
        """Room for what may end while so many events are played."""
        gone = np.empty(self.refs.shape[1] + new, np.int64)
        return matching.Ends(free, gone, np.array([free_count, 0, 0], np.int64))

    def arrange(self) -> None:
        """Before `waiting`."""

    def waiting(self, state: int, realm: int) -> Longs:
        """The tokens that wait at a state, oldest first."""
        raise NotImplementedError

    def standing(self, state: int, token: int) -> tuple[int, int, int, int, int]:
        """Where a token that waits at a state stands, as the reference tells it: furthest state,
        owed span, place, since when, sides."""
        return (state - 1, -1, -1, -1, 0)

    def add(self, state: int, realm: int) -> int:
        """A new token at the end of the list of a state."""
        raise NotImplementedError

    def begun(self, token: int, realm: int, first_ms: int) -> None:
        """The token's first event."""
        raise NotImplementedError

    def stands(self, token: int, standing: Sequence[int]) -> None:
        """Takes over what `standing` gave."""


class Tokens(TokenValues):
    """Tokens that wait in lists by state and partition instance."""

    def __init__(self, states: int, comparisons: Sequence[Comparison]) -> None:
        super().__init__(states, comparisons)
        self._first = np.zeros(0, np.int64)
        self.following = np.full(0, -1, np.int64)
        self._alive = np.zeros(0, np.bool_)
        self.free = np.zeros(0, np.int64)
        self.free_count = 0
        self.head = np.full((states, 1), -1, np.int64)
        self.tail = np.full((states, 1), -1, np.int64)
        self.oldest = np.full(1, FAR, np.int64)
        self.youngest = np.full(1, -FAR, np.int64)

    @property
    def alive(self) -> Any:
        return self._alive

    @property
    def first(self) -> Longs:
        return self._first

    def reserve(self, new: int, realms: int) -> None:
        """Makes room for so many new tokens, and for so many realms."""
        if new > self.free_count:
            self._grow(max(new - self.free_count, len(self._first), 1024))
        if realms > len(self.oldest):
            self.oldest = grown(self.oldest, realms, FAR)
            self.youngest = grown(self.youngest, realms, -FAR)
            self.head = _wider(self.head, len(self.oldest), -1)
            self.tail = _wider(self.tail, len(self.oldest), -1)

    def _grow(self, more: int) -> None:
        before = len(self._first)
        capacity = before + more
        for name in _ARRAYS:
            values = getattr(self, name)
            bigger = np.zeros(capacity, values.dtype)
            bigger[:before] = values
            setattr(self, name, bigger)
        self.widen(capacity)
        free = np.empty(capacity, np.int64)
        free[:more] = np.arange(capacity - 1, before - 1, -1)
        free[more : more + self.free_count] = self.free[: self.free_count]
        self.free = free
        self.free_count += more

    def play(self, within: int, events: matching.Events) -> tuple[Any, Longs, Longs]:
        """(matched refs by state, completing events, places of first events that are gone)."""
        ends = self.ends(self.free, self.free_count, len(events.key))
        matched, completing = matching.match_chain(
            within,
            self.compare,
            events,
            matching.Bound(self.refs, self.held),
            matching.Lists(self.head, self.tail, self.following),
            matching.Ages(self._first, self._alive, self.oldest, self.youngest),
            ends,
        )
        self.free_count = int(ends.counts[matching.FREE])
        return matched, completing, ends.gone[: ends.counts[matching.GONE]]

    def add(self, state: int, realm: int) -> int:
        self.reserve(1, realm + 1)
        self.free_count -= 1
        token = int(self.free[self.free_count])
        self._alive[token] = True
        self.refs[:, token] = -1
        self.following[token] = -1
        if self.tail[state, realm] == -1:
            self.head[state, realm] = token
        else:
            self.following[self.tail[state, realm]] = token
        self.tail[state, realm] = token
        return token

    def begun(self, token: int, realm: int, first_ms: int) -> None:
        self._first[token] = first_ms
        self.oldest[realm] = min(self.oldest[realm], first_ms)
        self.youngest[realm] = max(self.youngest[realm], first_ms)

    def waiting(self, state: int, realm: int) -> Longs:
        if realm >= self.head.shape[1]:
            return np.zeros(0, np.int64)
        found: Longs = matching.waiting(self.head[state, realm], self.following)
        return found


def _wider(values: Any, width: int, fill: Any) -> Any:
    bigger = np.full((len(values), width), fill, values.dtype)
    bigger[:, : values.shape[1]] = values
    return bigger
