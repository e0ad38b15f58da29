"""Patterns and sequences on columns: a unit for all instances of a partition at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.bound import Bound
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.played import Played, play, present
from lockstep.columns.units import States
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.comparing import Compared
from lockstep.patterns.columns.machine import Matches, PatternMachine, Slice
from lockstep.patterns.columns.rows import bound_column, eligible, selected
from lockstep.patterns.columns.state import PatternState
from lockstep.patterns.columns.unit import PatternParts, PatternUnit


class PatternQuery(PatternUnit):
    """See Unit. `read`: what the selector reads of matches."""

    shows_timers = False

    def __init__(self, parts: PatternParts, tokens: PatternMachine, read: Sequence[Bound]) -> None:
        super().__init__(parts)
        states, pool = parts.states, parts.pool
        self._picks = {bound.number: (i, bound.slot) for i, bound in enumerate(read)}
        self._tokens = tokens
        schemas = {state.stream: state.checked.stream.schema for state in states}
        self._held = [HeldRows(schemas[stream].types, pool) for stream in self.reads]
        checked = [state.checked for state in states]
        streams = [state.stream for state in states]
        self._compared = Compared(parts.comparisons, tokens, checked, streams, pool)
        lists = [state.checked.is_list for state in states]
        self._partial: PatternState = PatternState(tokens, self._held, self._compared, lists)
        self._left: list[tuple[int, Longs]] = []

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        played = play(present(inputs, self.reads), self.place)
        keys = played.instances()
        tokens = self._tokens
        tokens.memory.reserve(keys=int(keys.max()) + 1 if len(keys) else 1)
        streams = np.array([i for i, name in enumerate(self.reads) if name in inputs], np.int64)
        events = tokens.slice_of(len(played))
        events.events[:3] = keys, played.times, streams[played.stream]
        events.events[3] = eligible(self._states, inputs, played)
        self._compared.read(inputs, played, events)
        matches = tokens.play(events)
        starts_new = np.ones(len(matches.groups), np.bool_)
        starts_new[1:] = matches.groups[1:] != matches.groups[:-1]
        output = selected(
            self._selector,
            self._frame(inputs, played, matches),
            played,
            matches.completing,
            starts_new,
            keys if self._realms.is_partition else None,
        )
        self._leave()
        self._keep(inputs, played, streams, events)
        return self._leaves(output)

    def _frame(self, inputs: Mapping[str, Chunks], played: Played, matches: Matches) -> Rows:
        tokens = self._tokens

        def find(number: int, attribute: int) -> Column:
            pick, slot = self._picks[number]
            held = self._held[tokens.stream_of[slot]]
            refs = matches.refs[pick]
            return bound_column(self._states[slot], held, attribute, refs, inputs, played)

        def absent(number: int) -> Mask:
            none: Mask = matches.refs[self._picks[number][0]] == -1
            return none

        times = played.times[matches.completing]
        now = played.now[played.chunk_of[matches.completing]]
        return Rows(len(times), find, lambda: times, lambda: now, absent)

    def _keep(
        self, inputs: Mapping[str, Chunks], played: Played, streams: Longs, folded: Slice
    ) -> None:
        """Moves the events that tokens have bound in this slice to where they are held."""
        tokens, memory = self._tokens, self._tokens.memory
        cells = tokens.bound_here()
        refs = memory.cells[cells, machine.EVENT]
        of_stream = streams[played.stream[refs]]
        for stream in np.unique(of_stream).tolist():
            own = of_stream == stream
            events, of_event, uses = np.unique(refs[own], return_inverse=True, return_counts=True)
            chunks, rows = inputs[self.reads[stream]], played.row[events]
            held = self._held[stream]
            places = held.add([column.take(rows) for column in chunks.columns], chunks.times[rows])
            memory.reserve(places=held.places.capacity)
            memory.places[stream, places] = uses
            memory.cells[cells[own], machine.EVENT] = -2 - places[of_event]
            self._compared.keep(stream, events, places, folded)

    def _leave(self) -> None:
        streams, places = self._tokens.gone()
        for stream in np.unique(streams).tolist():
            self._left.append((stream, places[streams == stream]))

    def settle(self) -> None:
        for stream, places in self._left:
            self._held[stream].places.give_back(places)
        self._left.clear()

    def due_ms(self) -> int | None:
        return None

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        columns = [column for held in self._held for column in held.text_columns()]
        return columns + self._compared.text_columns()

    def store(self, states: States) -> None:
        self._partial.prepare(len(self._realms.keys) if self._realms.is_partition else 1)
        self._leave()
        self.settle()
        super().store(states)
