"""The values that a pattern's conditions compare: those of the events of a slice, and those of held
events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.arithmetic import as_type, ordered
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Strings, either, from_values
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.played import Played
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType
from lockstep.patterns.columns.machine import PatternMachine, Slice
from lockstep.patterns.conditions import Comparison
from lockstep.siddhiql.checked import CheckedState


class Compared:
    """Evaluates both sides of a machine's comparisons; `states` are those of the pattern, `streams`
    the stream of each."""

    def __init__(
        self,
        comparisons: Sequence[Comparison],
        tokens: PatternMachine,
        states: Sequence[CheckedState],
        streams: Sequence[str],
        pool: StringPool,
    ) -> None:
        self._comparisons = comparisons
        self._tokens = tokens
        self._streams = streams
        self._pool = pool
        self._texts = [i for i, c in enumerate(comparisons) if c.type.value == "string"]
        for c, comparison in enumerate(comparisons):
            # Where nothing is bound every attribute is null.
            nothing = _nothing(states[comparison.bound.slot].stream.schema.types)
            self._write(c, comparison, comparison.other(nothing), np.zeros(1, np.int64))

    def read(self, inputs: Mapping[str, Chunks], played: Played, into: Slice) -> None:
        """The own and other values of each event."""
        for c, comparison in enumerate(self._comparisons):
            for target, slot, evaluate in (
                (into.own, comparison.state, comparison.own),
                (into.other, comparison.bound.slot, comparison.other),
            ):
                stream = self._streams[slot]
                if stream not in inputs:
                    continue
                events, rows = played.of(inputs[stream])
                values, nulls = self._comparable(evaluate(inputs[stream].rows()), comparison)
                target[c, events, 0] = values[rows]
                if nulls is not None:
                    target[c, events, 1] = nulls[rows]

    def keep(self, stream: int, events: Longs, places: Longs, played: Slice) -> None:
        """Events of a slice are held in places from now on."""
        held = self._tokens.memory.held
        for c, comparison in enumerate(self._comparisons):
            if self._tokens.stream_of[comparison.bound.slot] == stream:
                held[c, places + 1] = played.other[c, events]

    def hold(self, stream: int, held: HeldRows, place: int) -> None:
        """An event has come to a place from a snapshot."""
        places = np.array([place], np.int64)
        frame = Rows(1, lambda _, i: held.column(i, places), _no_time, _no_time)
        for c, comparison in enumerate(self._comparisons):
            if self._tokens.stream_of[comparison.bound.slot] == stream:
                self._write(c, comparison, comparison.other(frame), places + 1)

    def _write(self, c: int, comparison: Comparison, column: Column, at: Longs) -> None:
        values, nulls = self._comparable(column, comparison)
        held = self._tokens.memory.held
        held[c, at, 0] = values
        held[c, at, 1] = False if nulls is None else nulls

    def _comparable(self, column: Column, comparison: Comparison) -> tuple[Any, Any]:
        """(whole numbers that compare as the values do, where they compare like null)."""
        if isinstance(column, Strings):
            return self._pool.adopt(column).values.astype(np.int64), column.nulls
        if not comparison.type.is_numeric:
            return column.values.astype(np.int64), column.nulls
        values = as_type(column, comparison.type)
        if values.dtype.kind != "f":
            return values.astype(np.int64), column.nulls
        return ordered(values.astype(np.float64)), either(column.nulls, np.isnan(values))

    def text_columns(self) -> list[Any]:
        """The codes of held strings, as they lie in memory."""
        return [self._tokens.memory.held[c, :, 0] for c in self._texts]


def _nothing(types: Sequence[AttributeType]) -> Rows:
    """No event at all."""

    def null(_: int, attribute: int) -> Column:
        return from_values(types[attribute], [None])

    return Rows(1, null, _no_time, _no_time, lambda _: np.ones(1, np.bool_))


def _no_time() -> Longs:
    return np.zeros(1, np.int64)
