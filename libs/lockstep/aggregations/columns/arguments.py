"""What the base values of an aggregation take of each event (aggregations.meaning.columns)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.aggregations.columns import kernel as buckets
from lockstep.aggregations.columns.bases import Base, Count, Distinct, Latest, Number
from lockstep.aggregations.meaning.columns import Kind
from lockstep.aggregators.accumulators import numbers
from lockstep.columns.column import Column
from lockstep.columns.keys import KeySpace, value_names
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType

_WHOLE = (AttributeType.INT, AttributeType.LONG)


class Argument:
    """What one base value takes of each event. `type` is None for count(), which takes nothing."""

    FORGET_MIN = 4096
    """Values of distinctCount that come on top of those once found in use before they are looked
    through again."""

    def __init__(self, kind: Kind, type_: AttributeType | None, pool: StringPool) -> None:
        self.kind = kind
        self._type = type_
        self._pool = pool
        self._space = KeySpace()
        self._used = 0

    def new(self) -> Base:
        """The base value for a further granularity."""
        match self.kind:
            case Kind.COUNT:
                return Count()
            case Kind.DISTINCT:
                return Distinct(self._space)
            case Kind.LATEST:
                assert self._type is not None
                return Latest(self._type, self._pool)
        kernels = {Kind.LEAST: buckets.least, Kind.GREATEST: buckets.greatest}
        return Number(kernels.get(self.kind, buckets.add), self._dtype)

    @property
    def _dtype(self) -> Any:
        return np.int64 if self._type in _WHOLE else np.float64

    def of(self, column: Column) -> Any:
        """The values as `Base.fold` takes them."""
        match self.kind:
            case Kind.COUNT:
                return None
            case Kind.LATEST:
                return column
            case Kind.DISTINCT:
                return self._space.assign(*value_names(column))
        return numbers(column, self._dtype)

    def settle(self, bases: Sequence[Base]) -> None:
        """The slice is done: values that no granularity holds any more may be forgotten."""
        if len(self._space) <= 2 * self._used + self.FORGET_MIN:
            return
        live = np.zeros(len(self._space), np.bool_)
        own = [base for base in bases if isinstance(base, Distinct)]
        for base in own:
            live[base.used()] = True
        self._used = int(live.sum())
        if 2 * self._used < len(live):
            moved = self._space.compact(live)
            for base in own:
                base.renumber(moved)
