"""externalTime(a, t) on columns (semantics 7.7)."""

from __future__ import annotations

import numpy as np

from lockstep.columns.column import Column, Longs, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.times import within_reach
from lockstep.events import AttributeType
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.chained import Chained
from lockstep.windows.contract import ColumnarCall, Setup, Step


class ExternalTimeWindow(Chained):
    """Sliding, where an attribute is the clock."""

    def __init__(self, setup: Setup, attribute: int, length_ms: int) -> None:
        super().__init__(setup)
        self._attribute = attribute
        self._length_ms = length_ms

    def flow(self, step: Step) -> Flow:
        value = clock_values(step, self._attribute)
        inside = int(self.count.sum())
        places, starts, keys = self.enter(step)
        values = self.held.raw(self._attribute)
        out = sliding.slide_by_attribute(
            starts, keys, places, self._length_ms, value, values, inside, *self.chain()
        )
        return self.made(step, out)


def clock_values(step: Step, attribute: int) -> Longs:
    """The attribute that is the clock; nulls are an error of the event."""
    return attribute_clock(step.chunks.columns[attribute])


def attribute_clock(column: Column) -> Longs:
    """The values of an attribute that is the clock; nulls are an error of the event. Unfit for
    those, and for times beyond reach."""
    if column.nulls is not None and column.nulls.any():
        raise Unfit("a null where an attribute is the clock")
    values: Longs = plain(column.values, np.int64)
    return within_reach(values)


def external_time(call: ColumnarCall, setup: Setup) -> ExternalTimeWindow:
    """See the class."""
    return ExternalTimeWindow(setup, call.attribute(0, AttributeType.LONG), int(call.constant(1)))
