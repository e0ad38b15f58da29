"""externalTimeBatch(a, t [, start.time]) on columns (semantics 7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.windows import batching_kernel as batching
from lockstep.windows.batches import Batches, Closings, grown_lines
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.external_time.columns import clock_values
from lockstep.windows.length_batch.columns import closed_in


class ExternalTimeBatchWindow(Batches):
    """An event at or behind the end closes the batch."""

    def __init__(self, setup: Setup, attribute: int, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup)
        self._attribute = attribute
        self._period_ms = period_ms
        self._start_ms = start_ms
        self._state = np.zeros((0, 3), np.int64)

    def reserve(self, realms: int) -> None:
        super().reserve(realms)
        known = len(self._state)
        self._state = grown_lines(self._state, realms)
        self._state[known:, 1] = UNKNOWN

    def closings(self, step: Step, keys: Longs) -> Closings:
        value = clock_values(step, self._attribute)
        events, realms, time = batching.close_by_attribute(
            plain(step.chunks.per_event(keys), np.int64),
            value,
            self._period_ms,
            self._start_ms is not None,
            self._start_ms or 0,
            self._state,
        )
        return closed_in(step, events, realms, at=events, time=time)

    def store(self, realm: int) -> Any:
        """See ColumnarWindow: start, end, latest, and what only a timeout needs."""
        batches = super().store(realm)
        start, end, latest = self._state[realm].tolist()
        period = (start, None if end == UNKNOWN else end, latest, 0, False)
        return (period, *batches)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        (start, end, latest, _, _), last, collected = state
        super().load(realm, (last, collected), groups)
        self._state[realm] = start, UNKNOWN if end is None else end, latest


def external_time_batch(call: ColumnarCall, setup: Setup) -> ExternalTimeBatchWindow:
    """NotLowerable with a timeout."""
    if len(call) > 3:
        raise NotLowerable("externalTimeBatch with a timeout")
    start_ms = int(call.constant(2)) if len(call) > 2 else None
    attribute = call.attribute(0, AttributeType.LONG)
    return ExternalTimeBatchWindow(setup, attribute, int(call.constant(1)), start_ms)
