"""The partial matches of a chain that ends with an absence, as arrays; see kernels.absences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.moves import Moves
from lockstep.columns.pool import StringPool
from lockstep.patterns.absences import kernel as absences
from lockstep.patterns.chains.kernel import Bound, Events
from lockstep.patterns.chains.tokens import TokenValues
from lockstep.patterns.conditions import OPERATORS, Comparison
from lockstep.windows.batches import grown_lines
from lockstep.windows.timers import Timers

_ROOM_MIN = 1024
FORGET_MIN = 4096
"""Timers that may wait, whoever of their tokens is over."""
Asked = tuple[int, int]
"""When a timer is due, and a number that orders those that are due at once."""


class AbsenceTokens(TokenValues):
    """Tokens of a chain of `states`, the last of which is an absence of `wait_ms`; `keyed` in a
    partition."""

    def __init__(
        self,
        states: int,
        comparisons: Sequence[Comparison],
        wait_ms: int,
        pool: StringPool,
        *,
        keyed: bool,
    ) -> None:
        super().__init__(states, comparisons)
        self.wait_ms = wait_ms
        self._pool = pool
        self._words = pool.words
        self._keyed = keyed
        self._index = np.full(states, -1, np.int64)
        for number, comparison in reversed(list(enumerate(comparisons))):
            if OPERATORS[comparison.operator] == "==" and not self.compare.is_float[number]:
                self._index[comparison.state] = number
        self._tokens = np.zeros((0, absences.COLUMNS), np.int64)
        self._free = np.zeros(0, np.int64)
        self._free_count = 0
        self._buckets = np.full((_ROOM_MIN, 2), -1, np.int64)
        self._marks = np.full(1, -1, np.int64)
        self._timers = Timers()
        self._waiting: dict[tuple[int, int], Longs] = {}
        self._asked: dict[int, dict[int, int]] = {}

    @property
    def alive(self) -> Any:
        return self._tokens[:, absences.STATE] > 0

    @property
    def first(self) -> Longs:
        found: Longs = self._tokens[:, absences.FIRST]
        return found

    @property
    def due_ms(self) -> int | None:
        return self._timers.due_ms

    # --- playing ---------------------------------------------------------------------------------

    def reserve(self, new: int, realms: int) -> None:
        """Makes room for so many new tokens, and for so many realms."""
        missing = new - self._free_count
        if missing > 0:
            self._grow(max(missing, len(self._tokens), _ROOM_MIN))
        self._marks = grown(self._marks, realms, -1)
        # Each token asks once: those that are there have, unless there are states on the way.
        on_the_way = len(self._tokens) - self._free_count if self.states > 2 else 0
        self._timers.reserve(new + on_the_way)

    def _grow(self, more: int) -> None:
        before = len(self._tokens)
        capacity = before + more
        self._tokens = grown_lines(self._tokens, capacity)
        capacity = len(self._tokens)
        self.widen(capacity)
        free = np.empty(capacity, np.int64)
        more = capacity - before
        free[:more] = np.arange(capacity - 1, before - 1, -1)
        free[more : more + self._free_count] = self._free[: self._free_count]
        self._free = free
        self._free_count += more
        if len(self._buckets) < capacity:
            self._buckets = np.full((1 << (capacity - 1).bit_length(), 2), -1, np.int64)
            self._link_all()

    def _link_all(self) -> None:
        alive = np.flatnonzero(self.alive)
        order = alive[np.argsort(self._tokens[alive, absences.ARRIVED])]
        absences.link_all(order, self._index, self.held.whole, self._tokens, self._buckets)
        self._words = self._pool.words

    def play_all(self, moment: Longs, events: Events, moves: Moves) -> tuple[absences.Found, Longs]:
        """The matches, and the places of first events that are gone."""
        if self._words is not self._pool.words:
            self._link_all()  # texts have other codes now
        room = len(self._tokens) - self._free_count + len(moment)
        found = absences.Found(
            np.empty((self.states - 1, room), np.int64),
            np.empty((room, absences.MADE), np.int64),
        )
        ends = self.ends(self._free, self._free_count, len(moment))
        heap, queue = self._timers.heap, np.empty((4, len(self._timers.heap)), np.int64)
        absences.play_absences(
            absences.Chain(self.states, self.wait_ms, self.compare, self._index),
            plain(moment, np.int64),
            events,
            absences.Clock(
                plain(moves.moments, np.int64),
                plain(moves.clock, np.int64),
                moves.before,
                moves.leaps,
            ),
            Bound(self.refs, self.held),
            absences.Waiting(self._tokens, self._buckets),
            ends,
            absences.Pending(heap, self._timers.counts, self._marks, queue),
            found,
        )
        self._free_count, count, gone = ends.counts.tolist()
        return absences.Found(found.matched[:, :count], found.made[:count]), ends.gone[:gone]

    def forget(self) -> None:
        """Drops timers of tokens that are over. In a partition they tell which key asked first."""
        many = int(self._timers.counts[0])
        if self._keyed or many < FORGET_MIN:
            return
        if many > 4 * (len(self._tokens) - self._free_count):
            heap = self._timers.heap[:many]
            own = self._tokens[heap[:, 2] & absences.TOKEN_MASK]
            last = own[:, absences.STATE] == self.states - 1
            self._timers.keep(last & (own[:, absences.TICKET] == heap[:, 1]))

    # --- snapshots -------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Before `waiting` and `asked`."""
        alive = np.flatnonzero(self.alive)
        own = self._tokens[alive]
        realm, state = own[:, absences.REALM], own[:, absences.STATE]
        order = np.lexsort((own[:, absences.ARRIVED], state, realm))
        alive, realm, state = alive[order], realm[order], state[order]
        starts = np.flatnonzero(np.append(True, (np.diff(realm) != 0) | (np.diff(state) != 0)))
        self._waiting = {
            (int(state[part[0]]), int(realm[part[0]])): alive[part]
            for part in np.split(np.arange(len(alive)), starts[1:])
            if len(part)
        }
        self._asked = {}
        heap = self._timers.heap[: self._timers.counts[0]]
        for due, number, owner in heap[np.argsort(heap[:, 1])].tolist():
            of_realm = self._asked.setdefault(owner >> absences.REALM_SHIFT, {})
            if self._keyed or self._is_asked(due, number, owner):
                of_realm.setdefault(due, number)

    def _is_asked(self, due: int, number: int, owner: int) -> bool:
        token = self._tokens[owner & absences.TOKEN_MASK]
        return bool(token[absences.STATE] == self.states - 1 and token[absences.TICKET] == number)

    def waiting(self, state: int, realm: int) -> Longs:
        """The tokens that wait at a state, oldest first, since `arrange`."""
        return self._waiting.get((state, realm), np.zeros(0, np.int64))

    def asked(self, realm: int) -> list[Asked]:
        """The timers of a realm, since `arrange`."""
        return sorted(self._asked.get(realm, {}).items())

    def standing(self, state: int, token: int) -> tuple[int, int, int, int, int]:
        """See TokenValues; who waits for time to pass knows since when."""
        if state < self.states - 1:
            return super().standing(state, token)
        since = int(self._tokens[token, absences.DUE]) - self.wait_ms
        return (state - 1, -1, state, since, 0)

    def add(self, state: int, realm: int) -> int:
        """A new token that waits at a state; see `begun` and `loaded`."""
        self.reserve(1, realm + 1)
        self._free_count -= 1
        token = int(self._free[self._free_count])
        self._timers.counts[1] += 1
        own = self._tokens[token]
        own[absences.STATE], own[absences.REALM] = state, realm
        own[absences.ARRIVED] = self._timers.counts[1]
        self.refs[:, token] = -1
        return token

    def begun(self, token: int, realm: int, first_ms: int) -> None:
        self._tokens[token, absences.FIRST] = first_ms

    def stands(self, token: int, standing: Sequence[int]) -> None:
        self._tokens[token, absences.DUE] = standing[3] + self.wait_ms

    def loaded(self, asked: Mapping[int, Sequence[Asked]]) -> None:
        """All tokens are there, and these are the timers by realm."""
        tokens = self._tokens
        number_of = {(realm, due): number for realm, own in asked.items() for due, number in own}
        entries: list[tuple[int, int, int, int]] = []
        for token in np.flatnonzero(tokens[:, absences.STATE] == self.states - 1).tolist():
            realm, due = int(tokens[token, absences.REALM]), int(tokens[token, absences.DUE])
            number = number_of.get((realm, due), 0)
            owner = (realm << absences.REALM_SHIFT) | token
            entries.append((due, number, int(tokens[token, absences.ARRIVED]), owner))
        waited_for = {(owner >> absences.REALM_SHIFT, due) for due, _, _, owner in entries}
        for (realm, due), number in number_of.items() if self._keyed else ():
            if (realm, due) not in waited_for:
                nobody = (realm << absences.REALM_SHIFT) | absences.TOKEN_MASK
                entries.append((due, number, 0, nobody))
        for due, _, _, owner in sorted(entries):
            ticket = int(self._timers.counts[1]) + 1
            self._timers.ask(due, ticket, owner)
            if owner & absences.TOKEN_MASK != absences.TOKEN_MASK:
                tokens[owner & absences.TOKEN_MASK, absences.TICKET] = ticket
        self._marks = grown(self._marks, max(asked, default=0) + 1, -1)
        self._link_all()
