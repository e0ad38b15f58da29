"""Hands the chunks of a record or a bundle to the engine, and moves its clock in front of them."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.bundles import STAYS, Bundle, Delivery
from lockstep.execute.reference.deduplication import SeenIds
from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.outputs import Outputs
from lockstep.operators.contract import StreamEvent


class Inputs:
    """What an engine is fed with. `outputs` is told at which moment the run stands; events with an
    id in `seen` are dropped. `chunk`: the number of the one under way, which would have to be left
    out; None while the clock moves that does so without it."""

    def __init__(self, engine: Engine, outputs: Outputs, seen: SeenIds) -> None:
        self._engine = engine
        self._outputs = outputs
        self._seen = seen
        self.chunk: int | None = None

    def fold(self, record: EventsRecord) -> None:
        """The chunks of a record; the wall clock has moved already."""
        stream, engine, outputs = record.stream, self._engine, self._outputs
        hears = record.has_timestamps and engine.is_playback
        for number, chunk in enumerate(record.chunks):
            self.chunk = number
            outputs.moment = 2 * number
            events = self._new(stream, chunk)
            if hears and events:
                engine.playback.hear(events[-1].timestamp_ms)
            self._send(stream, events)

    def fold_bundle(self, bundle: Bundle) -> None:
        """The deliveries of a bundle, with all moves of the clocks."""
        engine = self._engine
        moved = engine.is_playback or bundle.clocks is None
        if moved:
            engine.move_wall(bundle.clock_ms)
        for number, delivery in enumerate(bundle.deliveries()):
            self._outputs.moment = 2 * number
            events = self._new(delivery.stream, delivery.events)
            self.chunk = number if delivery.clock_ms is None else None
            moved |= self._move(delivery, events)
            self.chunk = number
            self._send(delivery.stream, events)
        self.chunk = None
        self._outputs.moment = 2 * len(bundle)
        if not engine.is_playback and (not moved or bundle.clock_ms > engine.wall):
            engine.move_wall(max(bundle.clock_ms, engine.wall))

    def _move(self, delivery: Delivery, events: Sequence[StreamEvent]) -> bool:
        """The clock in front of a delivery; whether it moved."""
        engine, clock_ms = self._engine, delivery.clock_ms
        if clock_ms is None:
            if events and delivery.has_timestamps and engine.is_playback:
                engine.playback.hear(events[-1].timestamp_ms)
            return False
        moves = clock_ms != STAYS
        engine.meter.next(0)
        if not engine.is_playback:
            if moves:
                engine.move_wall(max(clock_ms, engine.wall))
            return moves
        if delivery.has_timestamps and (events or moves):
            engine.playback.alive()
        if moves:
            engine.move_app(clock_ms)
        return moves

    def _new(self, stream: str, chunk: Sequence[InputEvent]) -> list[StreamEvent]:
        return [
            StreamEvent(event.timestamp_ms, event.data)
            for event in chunk
            if event.event_id is None or self._seen.add(f"{stream}\0{event.event_id}")
        ]

    def _send(self, stream: str, events: list[StreamEvent]) -> None:
        self._outputs.moment += 1
        self._engine.meter.next(len(events))
        if events:
            self._engine.junctions[stream].send(events)
