"""externalTimeBatch(a, t [, start.time]) on columns (semantics 7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.execute.columnar.kernels import batching
from lockstep.execute.columnar.windows.batches import Batches, Closings
from lockstep.execute.columnar.windows.contract import Setup, Step
from lockstep.execute.columnar.windows.external_time import clock_values
from lockstep.execute.columnar.windows.length_batch import closed_in


class ExternalTimeBatchWindow(Batches):
    """An event at or behind the end closes the batch."""

    def __init__(self, setup: Setup, attribute: int, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup)
        self._attribute = attribute
        self._period_ms = period_ms
        self._start_ms = start_ms
        self._state = np.zeros(4, np.int64)

    def closings(self, step: Step, collected: int) -> Closings:
        """See Batches."""
        value = clock_values(step, self._attribute)
        events, time = batching.close_by_attribute(
            value, self._period_ms, self._start_ms is not None, self._start_ms or 0, self._state
        )
        return closed_in(step, events + collected, events, time)

    def store(self, realm: int) -> Any:
        """See ColumnarWindow: start, end, latest, and what only a timeout needs."""
        start, end, known, latest = self._state.tolist()
        period = (start, end if known else None, latest, 0, False)
        return (period, *super().store(realm))

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        """See ColumnarWindow."""
        (start, end, latest, _, _), last, collected = state
        self._state = np.array([start, end or 0, int(end is not None), latest], np.int64)
        super().load(realm, (last, collected), groups)
