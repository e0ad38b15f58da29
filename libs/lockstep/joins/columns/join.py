"""Equi-joins of two streams with sliding windows (or none), on columns (semantics 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Longs
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.pairs import PairFlow, Side
from lockstep.columns.played import Played, play, present
from lockstep.columns.pool import StringPool
from lockstep.columns.units import States, Timer
from lockstep.joins.columns import kernel as joining
from lockstep.joins.columns.sides import Arrivals, JoinedWindows, JoinSide
from lockstep.plan import QueryNode
from lockstep.plan.paths import query_path
from lockstep.selection.columns import SelectorOperator
from lockstep.streams.columns import Condition


class WindowJoin:
    """See Unit. `condition` is what has to hold beside equal keys."""

    shows_timers = False
    is_observed = True

    def __init__(
        self,
        node: QueryNode,
        place: int,
        sides: tuple[JoinSide, JoinSide],
        condition: Condition | None,
        selector: SelectorOperator,
        pool: StringPool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = node.writes
        self.reads: tuple[str, ...] = (sides[0].stream, sides[1].stream)
        self._sides = sides
        self._condition = condition
        self._selector = selector
        self._windows = JoinedWindows(sides, pool)
        self.hears_timers = any(side.window == joining.TIME for side in sides)

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        filtered = {
            side.stream: side.passed(inputs[side.stream])
            for side in self._sides
            if side.stream in inputs
        }
        streams = present(filtered, self.reads)
        if not sum(map(len, streams)):
            self._windows.sweep(moves)
            return Output.nothing(self._selector.types)
        played = play(streams, self.place)
        arrivals = self._windows.arrive(filtered, played)
        trigger, met = self._windows.meet(arrivals, played, moves)
        flow = self._pairs(filtered, played, arrivals, trigger, met)
        if self._condition is not None:
            flow = flow.keep(self._condition(flow.frame()))
        flow = self._with_unmatched(filtered, played, arrivals, flow)
        tells = self._telling(played, arrivals)
        return self._selector.run_pairs(flow, played, played.order, tells)

    def _pairs(
        self,
        streams: Mapping[str, Chunks],
        played: Played,
        arrivals: Arrivals,
        trigger: Longs,
        met: Longs,
    ) -> PairFlow:
        """`met` is the place of the row that each trigger meets, -1 for nobody."""
        by_left = arrivals.side_of[trigger] == 0
        slots = []
        for number, side in enumerate(self._sides):
            own = trigger if side.window == joining.NONE else arrivals.place[trigger]
            refs = np.where(by_left == (number == 0), own, met)
            slots.append(self._slot(streams, played, number, refs))
        return PairFlow((slots[0], slots[1]), played, trigger)

    def _slot(
        self, streams: Mapping[str, Chunks], played: Played, number: int, refs: Longs
    ) -> Side:
        """A slot of pairs: by place where the side has a window, else by event of the slice."""
        side = self._sides[number]
        if side.window != joining.NONE:
            held = self._windows.held[number]
            return Side(lambda attribute: held.column(attribute, refs), refs)
        chunks = streams.get(side.stream)
        if chunks is None:
            chunks = Output.nothing(side.types).chunks
        rows = np.where(refs >= 0, played.row[np.maximum(refs, 0)], -1)
        return Side(lambda attribute: chunks.columns[attribute].take(rows), refs)

    def _with_unmatched(
        self, streams: Mapping[str, Chunks], played: Played, arrivals: Arrivals, flow: PairFlow
    ) -> PairFlow:
        """Outer joins: triggers of a preserved side that met nobody stand alone."""
        outer = np.array([side.triggers and side.is_outer for side in self._sides])
        if not outer.any():
            return flow
        lonely = outer[arrivals.side_of]
        lonely[flow.trigger] = False
        events = np.flatnonzero(lonely)
        if not len(events):
            return flow
        trigger = np.concatenate([flow.trigger, events])
        arranged = np.argsort(trigger, kind="stable")
        by_left = arrivals.side_of[flow.trigger] == 0
        other = np.where(by_left, flow.sides[1].index, flow.sides[0].index)
        met = np.concatenate([other, np.full(len(events), -1, np.int64)])
        return self._pairs(streams, played, arrivals, trigger[arranged], met[arranged])

    def _telling(self, played: Played, arrivals: Arrivals) -> Any:
        """Chunks whose lack of rows is told: those of a triggering side without a window."""
        tells = [side.triggers and side.window == joining.NONE for side in self._sides]
        firsts = np.searchsorted(played.chunk_of, np.arange(played.count))
        return np.array(tells)[arrivals.side_of[firsts]]

    def settle(self) -> None:
        self._windows.settle()

    def due_ms(self) -> int | None:
        due = [self._windows.due_ms(number) for number in range(2)]
        return min((each for each in due if each is not None), default=None)

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        return [column for held in self._windows.held for column in held.text_columns()]

    def store(self, states: States) -> None:
        for number, side in enumerate(self._sides):
            if side.window == joining.NONE:
                continue
            path = f"{query_path(self.name)}/{side.path}"
            states.operators[path] = self._windows.stored(number)
            due_ms = self._windows.due_ms(number)
            if due_ms is not None:
                states.timers.append(Timer(due_ms, path))

    def load(self, states: States) -> None:
        for number, side in enumerate(self._sides):
            if side.window != joining.NONE:
                self._windows.load(number, states.operators[f"{query_path(self.name)}/{side.path}"])
