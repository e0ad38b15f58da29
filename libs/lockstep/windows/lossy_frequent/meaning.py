"""lossyFrequent(support [, error [, attribute …]]) (semantics 7.11)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.windows.chunks import WindowBase
from lockstep.windows.frequent.meaning import key_of
from lockstep.windows.registry import WindowCall


class LossyFrequentWindow(WindowBase):
    """Lossy counting with width 1/error: an event passes while its key's count >= (support - error)
    N.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._support = float(call.constant(0))
        # An attribute in the second place is no error bound but the first key.
        has_error = call.is_constant(1)
        self._error = float(call.constant(1)) if has_error else self._support / 10
        self._key_of = key_of(call, 2 if has_error else 1)
        self._width = math.ceil(1 / self._error)
        without_keys = len(call) <= (2 if has_error else 1)
        self._fails = without_keys and call.context.is_siddhi_5_1
        self._total = 0
        self._counts: dict[Any, tuple[int, int]] = {}
        self._latest: dict[Any, StreamEvent] = {}

    def process(self, chunk: list[StreamEvent]) -> None:
        """Counts, passes what is frequent, prunes at the end of each bucket."""
        if self._fails:
            raise EventError("lossyFrequent without attributes fails in Siddhi 5.1 (@app:compat)")
        out: list[StreamEvent] = []
        for event in chunk:
            self._total += 1
            bucket = math.ceil(self._total / self._width)
            key = self._key_of(event)
            count, first = self._counts.get(key, (0, bucket - 1))
            self._counts[key] = (count + 1, first)
            self._latest[key] = event
            if count + 1 >= (self._support - self._error) * self._total:
                out.append(event)
            if self._total % self._width == 0:
                self._prune(bucket, out)
        if out:
            self.emit(out)

    def _prune(self, bucket: int, out: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        for key, (count, first) in list(self._counts.items()):
            if count + first <= bucket:
                del self._counts[key]
                out.append(StreamEvent(now, self._latest.pop(key).data, EXPIRED))

    def content(self) -> Iterable[StreamEvent]:
        """The latest event of each counted key."""
        return self._latest.values()

    def snapshot(self) -> PlainState:
        """The total, and counts and latest events by key."""
        counted = [(key, *counts, self._latest[key]) for key, counts in self._counts.items()]
        return (self._total, counted)

    def restore(self, state: PlainState) -> None:
        self._total, counted = state
        self._counts = {java.key(key): (count, first) for key, count, first, _ in counted}
        self._latest = {java.key(key): event for key, _, _, event in counted}
