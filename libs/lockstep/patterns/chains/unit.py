"""What units for chains of single events share: what is compared, what waiting tokens have bound,
and their state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.played import Played
from lockstep.columns.units import States
from lockstep.patterns.chains.kernel import Events, Values
from lockstep.patterns.chains.state import ChainState, comparable
from lockstep.patterns.chains.tokens import Tokens
from lockstep.patterns.columns.rows import bound_column
from lockstep.patterns.columns.unit import PatternParts, PatternUnit


class ChainUnit(PatternUnit):
    """See Unit. `tokens` are the partial matches; the last state binds nothing that is kept."""

    def __init__(self, parts: PatternParts, tokens: Tokens) -> None:
        super().__init__(parts)
        self._comparisons = comparisons = parts.comparisons
        self._pool = pool = parts.pool
        self._waiting = tokens
        self._held = [
            HeldRows(state.checked.stream.schema.types, pool) for state in self._states[:-1]
        ]
        self._partial: ChainState = ChainState(tokens, self._held, comparisons, pool)
        self._left: list[tuple[HeldRows, Longs]] = []

    # --- folding ----------------------------------------------------------------------------------

    def _events(
        self, inputs: Mapping[str, Chunks], played: Played, keys: Longs, allowed: Longs
    ) -> Events:
        """The events as kernels take them; `allowed` tells at which states they may be bound."""
        shape = (len(self._comparisons), len(played))
        own, other = (
            Values(*(np.zeros(shape, dtype) for dtype in (np.int64, np.float64, np.bool_)))
            for _ in range(2)
        )
        for c, comparison in enumerate(self._comparisons):
            for part, slot, evaluate in (
                (own, comparison.state, comparison.own),
                (other, comparison.bound.slot, comparison.other),
            ):
                stream = self._states[slot].stream
                if stream not in inputs:
                    continue
                events, rows = played.of(inputs[stream])
                column = evaluate(inputs[stream].rows())
                values, nulls = comparable(column, comparison, self._pool)
                target = part.floating if values.dtype.kind == "f" else part.whole
                target[c, events] = values[rows]
                if nulls is not None:
                    part.null[c, events] = nulls[rows]
        times = plain(played.times, np.int64)
        return Events(plain(keys, np.int64), times, allowed, own, other)

    def _keep(self, inputs: Mapping[str, Chunks], played: Played) -> None:
        """Moves the events that waiting tokens have bound in this slice to where they are held."""
        tokens = self._waiting
        for slot, held in enumerate(self._held):
            refs = tokens.refs[slot]
            here = np.flatnonzero(tokens.alive & (refs >= 0))
            if not len(here):
                continue
            events, of_event = np.unique(refs[here], return_inverse=True)
            chunks = inputs[self._states[slot].stream]
            rows = played.row[events]
            places = held.add([column.take(rows) for column in chunks.columns], chunks.times[rows])
            refs[here] = -places[of_event] - 2

    def settle(self) -> None:
        for held, places in self._left:
            held.places.give_back(places)
        self._left.clear()
        for slot in range(1, len(self._held)):
            self._forget(slot)

    def _forget(self, slot: int) -> None:
        """Later events may be bound by several tokens: they are kept while one of these waits."""
        held, tokens = self._held[slot], self._waiting
        refs = tokens.refs[slot][tokens.alive]
        live = np.zeros(held.places.capacity, np.bool_)
        live[-refs[refs < -1] - 2] = True
        held.places.reset(live)

    def _bound(
        self, slot: int, attribute: int, refs: Longs, inputs: Mapping[str, Chunks], played: Played
    ) -> Column:
        """An attribute of what matches have bound at a state but the last."""
        held = self._held[slot]
        return bound_column(self._states[slot], held, attribute, refs, inputs, played)

    # --- state ------------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        columns = [column for held in self._held for column in held.text_columns()]
        return columns + [self._waiting.held.whole[c] for c in self._waiting.texts]

    def store(self, states: States) -> None:
        self._partial.prepare()
        super().store(states)
