"""A stream joined with a keyed table by its key, on columns (semantics 9, 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.frame import Evaluate
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.pairs import PairFlow, Side, beside
from lockstep.columns.units import States
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.streams.columns import Condition
from lockstep.tables.store import TableStore


class TableJoin:
    """See Unit. Each event of the stream meets the row that has its key, if `condition` holds."""

    shows_timers = False
    is_observed = True

    def __init__(
        self,
        node: QueryNode,
        place: int,
        stream: str,
        stream_slot: int,
        table: TableStore,
        before: Sequence[Condition],
        key: Sequence[Evaluate],
        condition: Condition | None,
        selector: SelectorOperator,
        *,
        is_outer: bool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = node.writes
        self.reads = (stream, table.schema.name)
        self._slot = stream_slot
        self._table = table
        self._before = before
        self._key = key
        self._condition = condition
        self._selector = selector
        self._is_outer = is_outer

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs.get(self.reads[0])
        if chunks is None:
            return Output.nothing(self._selector.types)
        for condition in self._before:
            chunks = chunks.keep(condition(chunks.rows()))
        columns = [key(beside(chunks, self._slot)) for key in self._key]
        place = self._table.read(columns, chunks, chunks.order.below(self.place))
        index = np.arange(len(chunks), dtype=np.int64)
        own = Side.of_chunks(chunks, index)
        if self._condition is not None:
            pairs = self._pairs(chunks, own, place)
            place = np.where(self._condition(pairs.frame()), place, -1)
        if not self._is_outer:
            index = np.flatnonzero(place >= 0)
        own = Side.of_chunks(chunks, index)
        flow = self._pairs(chunks, own, place[index])
        return self._selector.run_pairs(flow, chunks, chunks.order.below(self.place, 0))

    def _pairs(self, chunks: Chunks, own: Side, place: Any) -> PairFlow:
        row = Side(lambda attribute: self._table.held.column(attribute, place), place)
        sides = (own, row) if self._slot == 0 else (row, own)
        return PairFlow(sides, chunks, own.index)

    def settle(self) -> None:
        """See Unit."""

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        """See Unit: there is no state of its own."""

    def load(self, states: States) -> None:
        """See Unit."""

    def text_columns(self) -> list[Any]:
        return []
