"""Equi-joins of two streams with sliding windows (or none), on columns (semantics 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.pairs import PairFlow, Side
from lockstep.columns.pool import StringPool
from lockstep.columns.units import States, Timer
from lockstep.joins.columns import kernel as joining
from lockstep.joins.columns.queues import JoinedQueues, Met
from lockstep.joins.columns.sides import JoinSide
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
        self._outer = np.array([side.triggers and side.is_outer for side in sides])
        # Whose lack of rows is told: that of a triggering side without a window.
        self._tells = np.array([side.triggers and side.window == joining.NONE for side in sides])
        listed = (self._outer | self._tells).tolist()
        self._windows = JoinedQueues(sides, place, listed, pool)
        self.hears_timers = any(side.window == joining.TIME for side in sides)

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        filtered = {
            side.stream: side.passed(inputs[side.stream])
            for side in self._sides
            if side.stream in inputs
        }
        if not sum(map(len, filtered.values())):
            self._windows.sweep(moves)
            return Output.nothing(self._selector.types)
        met = self._windows.meet(filtered, moves)
        if self._condition is not None:
            met = met.keep(self._condition(self._pairs(filtered, met).frame()))
        if self._outer.any():
            met = met.with_unmatched(self._outer)
        flow = self._pairs(filtered, met)
        tells = self._tells[met.side_of[met.events.firsts()]]
        return self._selector.run_pairs(flow, met.events, met.events.order, tells)

    def _pairs(self, streams: Mapping[str, Chunks], met: Met) -> PairFlow:
        side_of, row = met.side_of[met.trigger], met.events.row[met.trigger]
        left, right = (self._slot(streams, n, side_of == n, row, met) for n in range(2))
        return PairFlow((left, right), met.events, met.trigger)

    def _slot(
        self, streams: Mapping[str, Chunks], number: int, is_own: Mask, row: Longs, met: Met
    ) -> Side:
        """A slot of pairs, of which some are brought by events of its own side."""
        fresh, held = np.where(is_own, row, met.fresh), np.where(is_own, -1, met.held)
        chunks = streams.get(self._sides[number].stream)

        def find(attribute: int) -> Column:
            return self._windows.column(number, attribute, chunks, fresh, held)

        return Side(find, np.maximum(fresh, held))

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
