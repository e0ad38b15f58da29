"""Chains of single events that begin with `every`, on columns; see kernels.matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.execute.columnar.chain_state import ChainState, comparable
from lockstep.execute.columnar.chunks import Chunks
from lockstep.execute.columnar.column import Column
from lockstep.execute.columnar.conditions import Comparison
from lockstep.execute.columnar.frame import Rows
from lockstep.execute.columnar.held import HeldRows
from lockstep.execute.columnar.kernels import plain
from lockstep.execute.columnar.pattern_rows import State, bound_column, eligible, selected
from lockstep.execute.columnar.played import Played, play, present
from lockstep.execute.columnar.pool import StringPool
from lockstep.execute.columnar.realms import Realms
from lockstep.execute.columnar.selector import Output, SelectorOperator
from lockstep.execute.columnar.selector_state import SelectorState
from lockstep.execute.columnar.slices import Moves
from lockstep.execute.columnar.tokens import Tokens
from lockstep.execute.columnar.units import States
from lockstep.execute.columnar.windows.contract import Longs
from lockstep.plan import QueryNode


class ChainQuery:
    """See Unit."""

    shows_timers = False

    def __init__(
        self,
        node: QueryNode,
        writes: str,
        place: int,
        realms: Realms,
        states: Sequence[State],
        comparisons: Sequence[Comparison],
        within_ms: int | None,
        selector: SelectorOperator,
        pool: StringPool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = writes
        self.reads = tuple(dict.fromkeys(state.stream for state in states))
        self.is_observed = not realms.is_partition
        self._keeps_realms = not realms.is_partition or node.writes.startswith("#")
        self._realms = realms
        self._states = states
        self._comparisons = comparisons
        self._within_ms = -1 if within_ms is None else within_ms
        self._selector = selector
        self._selecting = SelectorState(self.name, realms, selector)
        self._pool = pool
        self._tokens = Tokens(len(states), comparisons)
        self._held = [HeldRows(state.checked.stream.schema.types, pool) for state in states[:-1]]
        self._partial = ChainState(self._tokens, self._held, comparisons, pool)
        self._left: list[tuple[HeldRows, Longs]] = []

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        """See Unit."""
        played = play(present(inputs, self.reads), self.place)
        allowed = eligible(self._states, inputs, played)
        tokens = self._tokens
        keys = played.instances()
        realms = int(keys.max()) + 1 if len(keys) else 1
        tokens.reserve(int((allowed & 1).sum()), realms)
        values = self._values(inputs, played)
        times = plain(played.times, np.int64)
        matched, completing, gone = tokens.play(
            self._within_ms, (plain(keys, np.int64), times, allowed, *values)
        )
        output = self._selected(inputs, played, matched, completing, keys)
        self._left.append((self._held[0], gone))
        self._keep(inputs, played)
        return output if self._keeps_realms else output.without_realms()

    def _values(self, inputs: Mapping[str, Chunks], played: Played) -> tuple[Any, ...]:
        """What is compared: own and other values of each event, as whole numbers and as floating
        ones, and where they are null."""
        shape = (len(self._comparisons), len(played))
        arrays: list[Any] = []
        for _ in range(2):
            arrays += [np.zeros(shape, np.int64), np.zeros(shape, np.float64)]
            arrays.append(np.zeros(shape, np.bool_))
        for c, comparison in enumerate(self._comparisons):
            for part, slot, evaluate in (
                (0, comparison.state, comparison.own),
                (3, comparison.bound.slot, comparison.other),
            ):
                stream = self._states[slot].stream
                if stream not in inputs:
                    continue
                events, rows = played.of(inputs[stream])
                column = evaluate(inputs[stream].rows())
                values, nulls = comparable(column, comparison, self._pool)
                arrays[part + int(values.dtype.kind == "f")][c, events] = values[rows]
                if nulls is not None:
                    arrays[part + 2][c, events] = nulls[rows]
        return tuple(arrays)

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

    def _keep(self, inputs: Mapping[str, Chunks], played: Played) -> None:
        """Moves the events that waiting tokens have bound in this slice to where they are held."""
        tokens = self._tokens
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
        """See Unit."""
        for held, places in self._left:
            held.places.give_back(places)
        self._left.clear()
        for slot in range(1, len(self._held)):
            self._forget(slot)

    def _forget(self, slot: int) -> None:
        """Later events may be bound by several tokens: they are kept while one of these waits."""
        held, tokens = self._held[slot], self._tokens
        refs = tokens.refs[slot][tokens.alive]
        live = np.zeros(held.places.capacity, np.bool_)
        live[-refs[refs < -1] - 2] = True
        held.places.reset(live)

    def due_ms(self) -> int | None:
        """See Unit."""
        return None

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        """See Unit."""
        columns = [column for held in self._held for column in held.text_columns()]
        return columns + [self._tokens.held_i[c] for c in self._tokens.texts]

    def store(self, states: States) -> None:
        """See Unit."""
        self._selecting.prepare()
        self._partial.prepare()
        for realm, path in self._realms.paths(self.name):
            states.operators[f"{path}/pattern"] = self._partial.stored(realm)
            states.operators[f"{path}/selector"] = self._selecting.stored(realm)

    def load(self, states: States) -> None:
        """See Unit."""
        for realm, path in self._realms.paths(self.name):
            self._selecting.load(realm, states.operators[f"{path}/selector"])
            self._partial.load(realm, states.operators[f"{path}/pattern"])
        self._selecting.reserve()
