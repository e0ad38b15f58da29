"""Windows that only the reference has, in front of columns: the reference's window takes the events
one by one, and what it lets out goes on in columns.

It keeps the events with their data; those of the slice are known again by it, so that only what
comes from before the slice is made into columns anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Unfit, concat, from_values
from lockstep.columns.flow import Flow
from lockstep.columns.labels import Levels
from lockstep.columns.order import START, Order, levels_from, places_of
from lockstep.columns.stored import columns_of
from lockstep.columns.units import Timer
from lockstep.events import AttributeType, describe
from lockstep.execute.columnar.hosted.engine import HostedEngine
from lockstep.execute.columnar.hosted.moving import Moving
from lockstep.operators import state as encoding
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.windows.contract import Step


class HostedWindow:
    """A reference window on an engine of its own. `rank` is the query's, None where it takes chunks
    where they stand; `drops_expired`: nobody wants what leaves, and a RESET stands behind it."""

    def __init__(
        self,
        engine: HostedEngine,
        path: str,
        rank: int | None,
        types: Sequence[AttributeType],
        *,
        drops_expired: bool,
    ) -> None:
        self._engine = engine
        self._path = path
        self._rank = rank
        self._types = types
        self._drops_expired = drops_expired
        window: Any = engine.operators[path]
        self._window = window
        self._window.emit = self._let_out
        self._out = _Out()

    def _let_out(self, chunk: list[StreamEvent]) -> None:
        place = self._engine.place
        if self._drops_expired:
            chunk = [event for event in chunk if event.kind != 1]
            if not chunk:
                return
        self._out.add(place.moment, place.next(), self._engine.now, chunk)

    def flow(self, step: Step) -> Flow:
        """What comes out for a slice's events."""
        chunks, engine = step.chunks, self._engine
        columns = [column.to_pylist() for column in chunks.columns]
        rows: list[Any] = list(zip(*columns, strict=True))
        events = list(map(StreamEvent, chunks.times.tolist(), rows))
        moving = Moving(engine, step.moves)
        starts, moments = chunks.starts.tolist(), chunks.order.moments.tolist()
        try:
            for number, levels in enumerate(places_of(chunks.order)):
                below = levels if self._rank is None else (*levels, self._rank)
                moving.to(moments[number], below)
                engine.place.at(moments[number], below)
                self._window.process(events[starts[number] : starts[number + 1]])
            moving.to_the_end()
        except PROCESSING_ERRORS as error:
            raise Unfit(f"a window refuses an event: {describe(error)}") from error
        out, self._out = self._out, _Out()
        return out.flow(chunks, rows, self._types)

    def start(self, clock_ms: int, rank: int) -> None:
        """The app starts: gets a window that runs by the clock from the start going."""
        start = getattr(self._window, "start", None)
        if start is not None:
            self._engine.reach(clock_ms)
            self._engine.place.at(START, (rank,))
            start()

    def due_ms(self) -> int | None:
        return self._engine.due_on(wall=not self._engine.is_playback)

    def wall_due_ms(self) -> int | None:
        return self._engine.due_on(wall=True)

    def store(self) -> Any:
        """The window's state: the reference's."""
        return self._window.snapshot()

    def load(self, state: Any) -> None:
        # What a columnar window packed comes as lists here.
        self._window.restore(encoding.decode(encoding.encode(state)))

    def content(self, types: Sequence[AttributeType]) -> tuple[Longs, Sequence[Column]]:
        """What a join finds inside."""
        return columns_of(list(self._window.content()), types)

    def pending(self) -> list[Timer]:
        """The timers that wait."""
        return self._engine.pending({id(self._window): self._path})

    def refill(self, timers: Sequence[Timer]) -> None:
        """Puts back what `pending` gave."""
        self._engine.refill([timer for timer in timers if timer.path == self._path])


class _Out:
    """The chunks that a window has let out."""

    def __init__(self) -> None:
        self._moments: list[int] = []
        self._levels: list[Levels] = []
        self._now: list[int] = []
        self._lengths: list[int] = []
        self._events: list[StreamEvent] = []

    def add(self, moment: int, levels: Levels, now: int, chunk: Sequence[StreamEvent]) -> None:
        """A chunk at its place."""
        self._moments.append(moment)
        self._levels.append(levels)
        self._now.append(now)
        self._lengths.append(len(chunk))
        self._events += chunk

    def flow(self, chunks: Chunks, rows: Sequence[Any], types: Sequence[AttributeType]) -> Flow:
        """All of them; `rows` are the data of the slice's events."""
        events = self._events
        known = {id(data): row for row, data in enumerate(rows)}
        older: list[Any] = []
        index = np.empty(len(events), np.int64)
        for i, event in enumerate(events):
            row = known.get(id(event.data), -1)
            if row < 0 and event.data:
                row = len(rows) + len(older)
                older.append(event.data)
            index[i] = row
        columns = chunks.columns
        if older:
            columns = tuple(
                concat([own, from_values(type_, [data[i] for data in older])])
                for i, (own, type_) in enumerate(zip(columns, types, strict=True))
            )
        offsets = np.append(0, np.cumsum(self._lengths)).astype(np.int64)
        order = Order(np.array(self._moments, np.int64), levels_from(self._levels))
        now = np.array(self._now, np.int64)
        source = Chunks(
            tuple(column.take(index) for column in columns),
            np.array([event.timestamp_ms for event in events], np.int64),
            offsets,
            order,
            now,
        )
        kinds = np.array([event.kind for event in events], np.int8)
        return Flow(source, offsets, order, now, kind=kinds)
