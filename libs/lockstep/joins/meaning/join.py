"""Joins: each event that leaves a side's window meets what the other side holds (semantics 9).

A side without a window acts like a window of length 0: each of its events comes, goes and resets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.joins.meaning.contents import Findable, Nothing
from lockstep.operators.contract import (
    CURRENT,
    EXPIRED,
    RESET,
    TIMER,
    Emit,
    JoinedEvent,
    PlainState,
    StreamEvent,
)
from lockstep.operators.errors import EVENT_ERRORS, PROCESSING_ERRORS
from lockstep.operators.limits import RowCount
from lockstep.selection.meaning import Torn, error_in, first_of
from lockstep.tables.meaning import SomeFailedError

EmitEach = Callable[[list[list[JoinedEvent]]], None]
"""Takes the chunks of one step, a chunk per triggering event."""


class Side:
    """One side: whether it triggers, whether it is preserved (outer), where the other is found.
    `count` is the join's: rows are counted before their pairs are made."""

    def __init__(self, count: RowCount, *, is_left: bool, triggers: bool, is_outer: bool) -> None:
        self._count = count
        self.is_left = is_left
        self.triggers = triggers
        self.is_outer = is_outer
        self.tells_leaving = False
        """Whether an event that leaves may fail of what nobody has been told of yet."""
        self.own: Findable = Nothing()
        self.other: Findable = Nothing()
        self.emit_each: EmitEach = _unconnected

    def process(self, chunk: list[StreamEvent]) -> None:
        """Takes what leaves the side's window; all is looked up before anything is passed on."""
        self.own.observe(chunk)
        if not self.triggers:
            return
        chunks: list[list[JoinedEvent]] = []
        failed = error_in(chunk)
        for event in chunk:
            if event.kind == TIMER:
                continue
            try:
                joined = [self._pair(event, None)] if event.kind == RESET else self._join(event)
            except SomeFailedError as some:
                # No null row: that would say that there is no other event.
                self._count.add(len(some.found))
                joined = [self._pair(event, row) for row in some.found]
                failed = first_of(failed, event, some.error, tells_leaving=self.tells_leaving)
            except PROCESSING_ERRORS as error:
                failed = first_of(failed, event, error, tells_leaving=self.tells_leaving)
                continue
            if joined:
                chunks.append(joined)
        if failed is not None:
            chunks.append(Torn((), failed))
        if chunks:
            self.emit_each(chunks)

    def _join(self, event: StreamEvent) -> list[JoinedEvent]:
        found = self.other.find(event)
        if found:
            self._count.add(len(found))
            at, kind = event.timestamp_ms, event.kind
            if self.is_left:
                return [JoinedEvent(at, event, row, kind) for row in found]
            return [JoinedEvent(at, row, event, kind) for row in found]
        return [self._pair(event, None)] if self.is_outer else []

    def _pair(self, event: StreamEvent, row: StreamEvent | None) -> JoinedEvent:
        if self.is_left:
            return JoinedEvent(event.timestamp_ms, event, row, event.kind)
        return JoinedEvent(event.timestamp_ms, row, event, event.kind)


class NoWindow:
    """The window of length 0 of a side without one: each event comes, goes and resets."""

    def __init__(self, now_ms: Callable[[], int], emit: Emit, *, with_expired: bool) -> None:
        self._now_ms = now_ms
        self._emit = emit
        self._with_expired = with_expired

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self._now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind != CURRENT:
                out.append(event)
                continue
            out.append(event)
            if self._with_expired:
                out.append(StreamEvent(now, event.data, EXPIRED))
            out.append(StreamEvent(now, event.data, RESET))
        self._emit(out)


class JoinInput:
    """A query's join (InputRuntime). `emit_each` may be set to take all chunks of a step."""

    def __init__(
        self,
        left: Side,
        right: Side,
        receivers: Sequence[tuple[str, Emit]],
        windows: Sequence[Any],
    ) -> None:
        self.emit: Emit = _unconnected
        self.emit_each: EmitEach = self._emit_one_by_one
        self._sides = (left, right)
        self._failed: BaseException | None = None
        self._receivers = self._alternating(receivers)
        self._windows = windows
        for side in self._sides:
            side.emit_each = self._pass_on

    def _pass_on(self, chunks: list[list[JoinedEvent]]) -> None:
        if self._failed is not None:
            chunks = [*chunks, Torn((), self._failed)]
        self.emit_each(chunks)

    def _emit_one_by_one(self, chunks: list[list[JoinedEvent]]) -> None:
        for chunk in chunks:
            self.emit(chunk)

    def receivers(self) -> Sequence[tuple[str, Emit]]:
        return self._receivers

    def _alternating(self, receivers: Sequence[tuple[str, Emit]]) -> Sequence[tuple[str, Emit]]:
        """In a self join each event goes through the left side, then through the right one.

        Also behind one that fails, or the sides would hold different events. What comes of the
        rest of the chunk enters aggregates and brings no rows.
        """
        if len(receivers) < 2 or receivers[0][0] != receivers[1][0]:
            return receivers
        source, left = receivers[0]
        right = receivers[1][1]

        def receive(chunk: list[StreamEvent]) -> None:
            outer, self._failed = self._failed, error_in(chunk)  # what comes out may come in again
            try:
                for event in chunk:
                    for process in (left, right):
                        try:
                            process([event])
                        except EVENT_ERRORS as error:
                            self._failed = self._failed or error
                if self._failed is not None:
                    raise self._failed
            finally:
                self._failed = outer

        return [(source, receive)]

    def start(self) -> None:
        """Gets windows that run by the clock from the start going."""
        for window in self._windows:
            start = getattr(window, "start", None)
            if start is not None:
                start()

    def snapshot(self) -> PlainState:
        """Nothing of its own: what is found lies in windows, tables and aggregations."""
        return None

    def restore(self, state: PlainState) -> None:
        """Forgets what was derived from contents that are being restored."""
        for side in self._sides:
            side.own.invalidate()


def _unconnected(chunk: list[Any]) -> None:
    """Where events go before the owner has connected the join."""
