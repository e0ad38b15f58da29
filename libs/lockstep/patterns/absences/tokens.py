"""The partial matches of a chain that ends with an absence, as arrays; see absences.kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.moves import Moves
from lockstep.columns.pool import StringPool
from lockstep.patterns.absences import kernel as absences
from lockstep.patterns.chains.kernel import ARRIVED, REALM, STATE, Bound, Events
from lockstep.patterns.chains.tokens import Tokens
from lockstep.patterns.conditions import Comparison
from lockstep.windows.timers import Timers

FORGET_MIN = 4096
"""Timers that may wait, whoever of their tokens is over."""
Asked = tuple[int, int]
"""When a timer is due, and a number that orders those that are due at once."""


class AbsenceTokens(Tokens):
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
        super().__init__(states, comparisons, pool)
        self.wait_ms = wait_ms
        self._keyed = keyed
        self._marks = np.full(1, -1, np.int64)
        self._timers = Timers()
        self._asked: dict[int, dict[int, int]] = {}

    @property
    def due_ms(self) -> int | None:
        return self._timers.due_ms

    # --- playing ---------------------------------------------------------------------------------

    def reserve(self, new: int, realms: int) -> None:
        super().reserve(new, realms)
        self._marks = grown(self._marks, realms, -1)
        # Each token asks once: those that are there have, unless there are states on the way.
        on_the_way = len(self.tokens) - self.free_count if self.states > 2 else 0
        self._timers.reserve(new + on_the_way)

    def play_all(self, moment: Longs, events: Events, moves: Moves) -> tuple[absences.Found, Longs]:
        """The matches, and the places of first events that are gone."""
        self.link()
        room = len(self.tokens) - self.free_count + len(moment)
        found = absences.Found(
            np.empty((self.states - 1, room), np.int64),
            np.empty((room, absences.MADE), np.int64),
        )
        ends = self.ends(len(moment), 0)
        heap, queue = self._timers.heap, np.empty((4, len(self._timers.heap)), np.int64)
        absences.play_absences(
            absences.Chain(self.states, self.wait_ms, self.compare),
            plain(moment, np.int64),
            events,
            absences.Clock(
                plain(moves.moments, np.int64),
                plain(moves.clock, np.int64),
                moves.before,
                moves.leaps,
            ),
            Bound(self.refs, self.held),
            absences.Waiting(self.tokens, self.buckets),
            ends,
            absences.Pending(heap, self._timers.counts, self._marks, queue),
            found,
        )
        self.free_count, count, gone, _ = ends.counts.tolist()
        return absences.Found(found.matched[:, :count], found.made[:count]), ends.gone[:gone]

    def forget(self) -> None:
        """Drops timers of tokens that are over. In a partition they tell which key asked first."""
        many = int(self._timers.counts[0])
        if self._keyed or many < FORGET_MIN:
            return
        if many > 4 * (len(self.tokens) - self.free_count):
            heap = self._timers.heap[:many]
            own = self.tokens[heap[:, 2] & absences.TOKEN_MASK]
            last = own[:, STATE] == self.states - 1
            self._timers.keep(last & (own[:, absences.TICKET] == heap[:, 1]))

    # --- snapshots -------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Before `waiting` and `asked`."""
        super().arrange()
        self._asked = {}
        heap = self._timers.heap[: self._timers.counts[0]]
        for due, number, owner in heap[np.argsort(heap[:, 1])].tolist():
            of_realm = self._asked.setdefault(owner >> absences.REALM_SHIFT, {})
            if self._keyed or self._is_asked(due, number, owner):
                of_realm.setdefault(due, number)

    def _is_asked(self, due: int, number: int, owner: int) -> bool:
        token = self.tokens[owner & absences.TOKEN_MASK]
        return bool(token[STATE] == self.states - 1 and token[absences.TICKET] == number)

    def asked(self, realm: int) -> list[Asked]:
        """The timers of a realm, since `arrange`."""
        return sorted(self._asked.get(realm, {}).items())

    def standing(self, state: int, token: int) -> tuple[int, int, int, int, int]:
        """See Tokens; who waits for time to pass knows since when."""
        if state < self.states - 1:
            return super().standing(state, token)
        since = int(self.tokens[token, absences.DUE]) - self.wait_ms
        return (state - 1, -1, state, since, 0)

    def arrival(self) -> int:
        self._timers.counts[1] += 1
        return int(self._timers.counts[1])

    def stands(self, token: int, standing: Sequence[int]) -> None:
        self.tokens[token, absences.DUE] = standing[3] + self.wait_ms

    def loaded(self, asked: Mapping[int, Sequence[Asked]]) -> None:
        """All tokens are there, and these are the timers by realm."""
        tokens = self.tokens
        number_of = {(realm, due): number for realm, own in asked.items() for due, number in own}
        entries: list[tuple[int, int, int, int]] = []
        for token in np.flatnonzero(tokens[:, STATE] == self.states - 1).tolist():
            realm, due = int(tokens[token, REALM]), int(tokens[token, absences.DUE])
            number = number_of.get((realm, due), 0)
            owner = (realm << absences.REALM_SHIFT) | token
            entries.append((due, number, int(tokens[token, ARRIVED]), owner))
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
