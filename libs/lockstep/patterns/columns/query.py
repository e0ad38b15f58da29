"""Patterns and sequences on columns: a unit for all instances of a partition at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.bound import Bound
from lockstep.columns.chunks import Chunks, empty, joined_orders
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.played import Played, behind_start, play, present
from lockstep.columns.units import States, Timer
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.columns.comparing import Compared
from lockstep.patterns.columns.machine import Matches, PatternMachine, Slice
from lockstep.patterns.columns.rows import bound_column, eligible
from lockstep.patterns.columns.state import PatternState
from lockstep.patterns.columns.unit import PatternParts, PatternUnit


class PatternQuery(PatternUnit):
    """See Unit. `read`: what the selector reads of matches; `rank`: that of the owner of its
    timers; `leaps`: the app's clock is that of its events."""

    def __init__(
        self,
        parts: PatternParts,
        tokens: PatternMachine,
        read: Sequence[Bound],
        *,
        rank: int,
        leaps: bool,
    ) -> None:
        super().__init__(parts)
        self._rank = rank
        self._leaps = leaps
        self.shows_timers = tokens.is_timed
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
        inputs = behind_start(inputs)
        played = play(present(inputs, self.reads) or [self._nothing()], self.place)
        keys = played.instances()
        tokens = self._tokens
        tokens.memory.reserve(keys=int(keys.max()) + 1 if len(keys) else 1)
        streams = np.array([i for i, name in enumerate(self.reads) if name in inputs], np.int64)
        events = tokens.slice_of(len(played))
        events.events[:3] = keys, played.times, streams[played.stream]
        events.events[3] = eligible(self._states, inputs, played)
        events.events[4] = played.per_event(played.now)
        events.events[5] = played.per_event(played.order.moments)
        self._compared.read(inputs, played, events)
        matches = tokens.play(events, moves)
        output = self._selected(inputs, played, matches)
        self._leave()
        self._keep(inputs, played, streams, events)
        return self._leaves(output)

    def _nothing(self) -> Chunks:
        types = self._states[0].checked.stream.schema.types
        return empty(types, keyed=self._realms.is_partition)

    def _selected(self, inputs: Mapping[str, Chunks], played: Played, matches: Matches) -> Output:
        """The rows of matches: those of a group are one chunk, in front of what follows the chunk
        that completed them, or below the firing that did."""
        starts_new = np.ones(len(matches.groups), np.bool_)
        starts_new[1:] = matches.groups[1:] != matches.groups[:-1]
        firsts = np.flatnonzero(starts_new)
        completing = matches.completing
        clock, realm = self._circumstances(played, matches)
        shell = Chunks(
            (),
            matches.times,
            np.append(firsts, len(completing)).astype(np.int64),
            self._order(played, matches, firsts),
            clock[firsts],
            realm[firsts] if self._realms.is_partition else None,
        )
        frame = self._frame(inputs, played, matches, clock)
        own = realm if self._realms.is_partition else None
        return self._selector.run_each(frame, shell, own)

    def _circumstances(self, played: Played, matches: Matches) -> tuple[Longs, Longs]:
        """The clock and the partition instance of each match."""
        by_event = matches.completing >= 0
        event, firing = matches.completing[by_event], -1 - matches.completing[~by_event]
        clock, realm = np.empty((2, len(by_event)), np.int64)
        clock[by_event] = played.now[played.chunk_of[event]]
        realm[by_event] = played.instances()[event]
        clock[~by_event], realm[~by_event] = matches.fired[firing, 2:4].T
        return clock, realm

    def _order(self, played: Played, matches: Matches, firsts: Longs) -> Order:
        """Where the groups of matches stand; `firsts` are the first of each."""
        completing, number = matches.completing[firsts], np.arange(len(firsts), dtype=np.int64)
        by_event = completing >= 0
        of_events = played.order.take(played.chunk_of[completing[by_event]])
        of_events = of_events.below(number[by_event])
        if by_event.all():
            return of_events
        moment, due, _, _, place = matches.fired[-1 - completing[~by_event]].T
        of_timers = Order(moment, (due, self._rank, place, number[~by_event]))
        back = np.argsort(np.concatenate([np.flatnonzero(by_event), np.flatnonzero(~by_event)]))
        return joined_orders([of_events, of_timers]).take(back)

    def _frame(
        self, inputs: Mapping[str, Chunks], played: Played, matches: Matches, clock: Longs
    ) -> Rows:
        tokens = self._tokens

        def find(number: int, attribute: int) -> Column:
            pick, slot = self._picks[number]
            held = self._held[tokens.stream_of[slot]]
            refs = matches.refs[pick]
            return bound_column(self._states[slot], held, attribute, refs, inputs, played)

        def absent(number: int) -> Mask:
            none: Mask = matches.refs[self._picks[number][0]] == -1
            return none

        return Rows(len(clock), find, lambda: matches.times, lambda: clock, absent)

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
        """See Unit; a token that is over leaves its timer."""
        return self._tokens.timers.due_ms

    def start(self, clock_ms: int) -> None:
        """The app starts: what waits from the beginning does so from now."""
        if self._tokens.is_timed and not self._realms.is_partition:
            self._tokens.start(0 if self._leaps else clock_ms)

    def wall_due_ms(self) -> int | None:
        """See Started: its timers are those of the app's clock."""
        return None

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        columns = [column for held in self._held for column in held.text_columns()]
        return columns + self._compared.text_columns()

    def store(self, states: States) -> None:
        if self._realms.is_partition:
            self._partial.prepare(len(self._realms.keys), opens=True)
        else:
            self._partial.prepare(1, opens=not self._tokens.is_timed)
        self._leave()
        self.settle()
        super().store(states)
        for realm, path in self._realms.paths(self.name):
            asked = self._partial.asked(realm)
            states.timers += [Timer(due_ms, f"{path}/pattern", n) for due_ms, n in asked]

    def load(self, states: States) -> None:
        super().load(states)
        for realm, path in self._realms.paths(self.name):
            own = states.timers_of(f"{path}/pattern")
            self._partial.ask(realm, [(timer.due_ms, timer.sequence) for timer in own])
        self._partial.loaded()
