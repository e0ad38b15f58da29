"""Chains of single events that begin with `every`, on columns; see chains.kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs
from lockstep.columns.frame import Rows
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.played import Played, behind_start, play, present
from lockstep.columns.units import States
from lockstep.patterns.chains.tokens import ChainTokens
from lockstep.patterns.chains.unit import ChainUnit
from lockstep.patterns.columns.rows import bound_column, eligible, selected
from lockstep.patterns.columns.unit import PatternParts


class ChainQuery(ChainUnit):
    """See Unit."""

    shows_timers = False

    def __init__(self, parts: PatternParts, within_ms: int | None) -> None:
        self._tokens = tokens = ChainTokens(len(parts.states), parts.comparisons, parts.pool)
        super().__init__(parts, tokens)
        self._within_ms = -1 if within_ms is None else within_ms

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        inputs = behind_start(inputs)
        played = play(present(inputs, self.reads), self.place)
        allowed = eligible(self._states, inputs, played)
        tokens = self._tokens
        keys = played.instances()
        realms = int(keys.max()) + 1 if len(keys) else 1
        tokens.reserve(int((allowed & 1).sum()), realms)
        events = self._events(inputs, played, keys, allowed)
        matched, completing, gone = tokens.play(self._within_ms, events)
        output = self._selected(inputs, played, matched, completing, keys)
        self._left.append((self._held[0], gone))
        self._keep(inputs, played)
        return self._leaves(output)

    def _selected(
        self,
        inputs: Mapping[str, Chunks],
        played: Played,
        matched: Any,
        completing: Longs,
        keys: Longs,
    ) -> Output:
        """Rows of the matches: of one event in a stream with several states one chunk, else
        each."""
        last = self._states[-1].stream
        several = sum(state.stream == last for state in self._states) > 1
        starts_new = np.ones(len(completing), np.bool_)
        if several:
            starts_new[1:] = completing[1:] != completing[:-1]
        frame = self._frame(inputs, played, matched, completing)
        realm = keys if self._realms.is_partition else None
        return selected(self._selector, frame, played, completing, starts_new, realm)

    def _frame(
        self, inputs: Mapping[str, Chunks], played: Played, matched: Any, completing: Longs
    ) -> Rows:
        def find(slot: int, attribute: int) -> Column:
            is_last = slot == len(self._states) - 1
            refs, held = (completing, 0) if is_last else (matched[slot], slot)
            state = self._states[slot]
            return bound_column(state, self._held[held], attribute, refs, inputs, played)

        times = played.times[completing]
        now = played.now[played.chunk_of[completing]]
        return Rows(len(completing), find, lambda: times, lambda: now)

    def due_ms(self) -> int | None:
        return None

    # --- state -----------------------------------------------------------------------------------

    def load(self, states: States) -> None:
        super().load(states)
        self._tokens.loaded()
