"""Chains that end with `-> not X for t` on columns: matches are what timers bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks, empty
from lockstep.columns.column import Column
from lockstep.columns.frame import Rows
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.played import Played, behind_start, play, present
from lockstep.columns.units import States, Timer
from lockstep.patterns.absences.tokens import AbsenceTokens
from lockstep.patterns.chains.unit import ChainUnit
from lockstep.patterns.columns.rows import eligible
from lockstep.patterns.columns.unit import PatternParts


class AbsenceQuery(ChainUnit):
    """See Unit. `rank` is that of the owner of its timers."""

    shows_timers = True

    def __init__(self, parts: PatternParts, wait_ms: int, rank: int) -> None:
        states, keyed = parts.states, parts.realms.is_partition
        self._tokens = tokens = AbsenceTokens(
            len(states), parts.comparisons, wait_ms, parts.pool, keyed=keyed
        )
        super().__init__(parts, tokens)
        self._rank = rank
        self._nothing = empty(states[0].checked.stream.schema.types, keyed=keyed)

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        inputs = behind_start(inputs)
        played = play(present(inputs, self.reads) or [self._nothing], self.place)
        allowed = eligible(self._states, inputs, played)
        keys = played.instances()
        self._tokens.reserve(int((allowed & 1).sum()), int(keys.max()) + 1 if len(keys) else 1)
        events = self._events(inputs, played, keys, allowed)
        moment = played.per_event(played.order.moments)
        (matched, made), gone = self._tokens.play_all(moment, events, moves)
        output = self._selected(inputs, played, matched, made)
        self._left.append((self._held[0], gone))
        self._keep(inputs, played)
        return self._leaves(output)

    def _selected(
        self, inputs: Mapping[str, Chunks], played: Played, matched: Any, made: Any
    ) -> Output:
        """Rows of the matches, each a chunk of its own (semantics 12.1) below its firing."""
        moment, due, clock, realm, firing, number = np.ascontiguousarray(made.T)
        order = Order(moment, (due, self._rank, firing, number))

        def find(slot: int, attribute: int) -> Column:
            return self._bound(slot, attribute, matched[slot], inputs, played)

        frame = Rows(len(made), find, lambda: due, lambda: clock)
        keys = realm if self._realms.is_partition else None
        starts = np.arange(len(made) + 1, dtype=np.int64)
        return self._selector.run_each(frame, Chunks((), due, starts, order, clock, keys), keys)

    def settle(self) -> None:
        super().settle()
        self._tokens.forget()

    def due_ms(self) -> int | None:
        """See Unit; a token that is over may have left its timer."""
        return self._tokens.due_ms

    # --- state -----------------------------------------------------------------------------------

    def store(self, states: States) -> None:
        super().store(states)
        for realm, path in self._realms.paths(self.name):
            asked = self._tokens.asked(realm)
            states.timers += [Timer(due_ms, f"{path}/pattern", n) for due_ms, n in asked]

    def load(self, states: States) -> None:
        super().load(states)
        asked = {
            realm: [(t.due_ms, t.sequence) for t in states.timers_of(f"{path}/pattern")]
            for realm, path in self._realms.paths(self.name)
        }
        self._tokens.loaded(asked)
