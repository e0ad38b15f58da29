"""The partial matches of a chain, as arrays: what waits at which state, by partition instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.pool import StringPool
from lockstep.patterns.chains import kernel as matching
from lockstep.patterns.conditions import OPERATORS, Comparison
from lockstep.windows.batches import grown_lines

_ROOM_MIN = 1024


class Tokens:
    """What tokens of a chain of `states` have bound, and what later states compare with: a column
    per token; and where each waits: a line per token. See patterns.chains.kernel for the arrays.
    Subclasses know what else is to be told of a token."""

    def __init__(self, states: int, comparisons: Sequence[Comparison], pool: StringPool) -> None:
        self.states = states
        count = len(comparisons)
        floating = ("float", "double")
        self.compare = matching.Comparisons(
            np.array([c.state for c in comparisons], np.int64),
            np.array([c.bound.slot for c in comparisons], np.int64),
            np.array([c.operator for c in comparisons], np.int64),
            np.array([c.type.value in floating for c in comparisons], np.bool_),
            _index(states, comparisons),
        )
        self.texts = [i for i, c in enumerate(comparisons) if c.type.value == "string"]
        self.refs = np.full((states - 1, 0), -1, np.int64)
        self.held = matching.Values(
            *(np.zeros((count, 0), dtype) for dtype in (np.int64, np.float64, np.bool_))
        )
        self.tokens = np.zeros((0, matching.COLUMNS), np.int64)
        self.buckets = np.full((_ROOM_MIN, 2), -1, np.int64)
        self.free = np.zeros(0, np.int64)
        self.free_count = 0
        self._pool = pool
        self._words: object = None
        self._waiting: dict[tuple[int, int], Longs] = {}

    @property
    def alive(self) -> Any:
        """Which tokens wait somewhere."""
        return self.tokens[:, matching.STATE] > 0

    @property
    def first(self) -> Longs:
        """When each token bound its first event."""
        found: Longs = self.tokens[:, matching.FIRST]
        return found

    # --- playing ----------------------------------------------------------------------------------

    def reserve(self, new: int, realms: int) -> None:
        """Makes room for so many new tokens, and for so many realms."""
        if new > self.free_count:
            self._grow(max(new - self.free_count, len(self.tokens), _ROOM_MIN))

    def _grow(self, more: int) -> None:
        before = len(self.tokens)
        self.tokens = grown_lines(self.tokens, before + more)
        capacity = len(self.tokens)
        more = capacity - before
        self.refs = _wider(self.refs, capacity, 0)
        self.held = matching.Values(*(_wider(values, capacity, 0) for values in self.held))
        free = np.empty(capacity, np.int64)
        free[:more] = np.arange(capacity - 1, before - 1, -1)
        free[more : more + self.free_count] = self.free[: self.free_count]
        self.free = free
        self.free_count += more
        if len(self.buckets) < capacity:
            self.buckets = np.full((1 << (capacity - 1).bit_length(), 2), -1, np.int64)
            self._words = None

    def ends(self, new: int, arrivals: int) -> matching.Ends:
        """Room for what may end while so many events are played."""
        gone = np.empty(self.refs.shape[1] + new, np.int64)
        return matching.Ends(self.free, gone, np.array([self.free_count, 0, 0, arrivals], np.int64))

    def link(self) -> None:
        """Before tokens are played: they stand in buckets anew if there are more buckets or other
        tokens, or if texts have other codes now."""
        if self._words is self._pool.words:
            return
        alive = np.flatnonzero(self.alive)
        order = alive[np.argsort(self.tokens[alive, matching.ARRIVED])]
        matching.link_all(order, self.compare.index, self.held.whole, self.tokens, self.buckets)
        self._words = self._pool.words

    # --- snapshots --------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Before `waiting`."""
        alive = np.flatnonzero(self.alive)
        own = self.tokens[alive]
        realm, state = own[:, matching.REALM], own[:, matching.STATE]
        order = np.lexsort((own[:, matching.ARRIVED], state, realm))
        alive, realm, state = alive[order], realm[order], state[order]
        starts = np.flatnonzero(np.append(True, (np.diff(realm) != 0) | (np.diff(state) != 0)))
        self._waiting = {
            (int(state[part[0]]), int(realm[part[0]])): alive[part]
            for part in np.split(np.arange(len(alive)), starts[1:])
            if len(part)
        }

    def waiting(self, state: int, realm: int) -> Longs:
        """The tokens that wait at a state, oldest first, since `arrange`."""
        return self._waiting.get((state, realm), np.zeros(0, np.int64))

    def standing(self, state: int, token: int) -> tuple[int, int, int, int, int]:
        """Where a token that waits at a state stands, as the reference tells it: furthest state,
        owed span, place, since when, sides."""
        return (state - 1, -1, -1, -1, 0)

    def arrival(self) -> int:
        """The number of the next arrival at a state."""
        raise NotImplementedError

    def add(self, state: int, realm: int, first_ms: int) -> int:
        """A new token at the end of the list of a state, and when it bound its first event."""
        self.reserve(1, realm + 1)
        self.free_count -= 1
        token = int(self.free[self.free_count])
        own = self.tokens[token]
        own[matching.STATE], own[matching.REALM] = state, realm
        own[matching.ARRIVED], own[matching.FIRST] = self.arrival(), first_ms
        self.refs[:, token] = -1
        self._words = None
        return token

    def stands(self, token: int, standing: Sequence[int]) -> None:
        """Takes over what `standing` gave."""


class ChainTokens(Tokens):
    """Tokens whose order of beginnings is kept by key, for `within`."""

    def __init__(self, states: int, comparisons: Sequence[Comparison], pool: StringPool) -> None:
        super().__init__(states, comparisons, pool)
        self._ages = np.full((1, 3), -1, np.int64)
        self._arrivals = 0

    def reserve(self, new: int, realms: int) -> None:
        super().reserve(new, realms)
        self._ages = grown_lines(self._ages, realms, -1)

    def play(self, within: int, events: matching.Events) -> tuple[Any, Longs, Longs]:
        """(matched refs by state, completing events, places of first events that are gone)."""
        self.link()
        # A match ends a token, so there are no more than tokens and events.
        room = len(self.tokens) - self.free_count + len(events.key)
        found = matching.Found(
            np.empty((self.states - 1, room), np.int64), np.empty(room, np.int64)
        )
        ends = self.ends(len(events.key), self._arrivals)
        matching.play_chain(
            within,
            self.compare,
            events,
            matching.Bound(self.refs, self.held),
            matching.Waiting(self.tokens, self.buckets, self._ages),
            ends,
            found,
        )
        self.free_count, count, gone, self._arrivals = ends.counts.tolist()
        return found.matched[:, :count], found.completing[:count], ends.gone[:gone]

    def arrival(self) -> int:
        self._arrivals += 1
        return self._arrivals

    def loaded(self) -> None:
        """All tokens are there."""
        alive = np.flatnonzero(self.alive)
        order = alive[np.argsort(self.first[alive], kind="stable")]
        matching.begin_ages(order, self.tokens, self._ages)


def _index(states: int, comparisons: Sequence[Comparison]) -> Longs:
    """By state the comparison with == that finds its bucket, or -1: rather one of many values."""
    found = np.full(states, -1, np.int64)
    for number, comparison in reversed(list(enumerate(comparisons))):
        kind = comparison.type.value
        if OPERATORS[comparison.operator] != "==" or kind in ("float", "double"):
            continue
        if found[comparison.state] == -1 or kind != "bool":
            found[comparison.state] = number
    return found


def _wider(values: Any, width: int, fill: Any) -> Any:
    bigger = np.full((len(values), width), fill, values.dtype)
    bigger[:, : values.shape[1]] = values
    return bigger
