"""Collects the rows and faults of a slice, each with its identity (design invariant 3), and for the
rows of channels where in their position they were brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockstep.events import Event, Operation, OutputId, OutputRow, Position, describe
from lockstep.events.outputs import OutputColumns, Places, RowsOfColumns, in_columns
from lockstep.execute.contract import EventFault
from lockstep.execute.reference.engine import Engine
from lockstep.operators.contract import StreamEvent


class Outputs:
    """Rows of exported streams and stored tables; ordinals count the rows of one position.

    `moment` is where in its position the run stands (see Places); whoever moves it tells.
    """

    def __init__(self) -> None:
        self.moment = 0
        self._position: Position = 0
        self._ordinal = 0
        self._chunk = 0
        self._places: dict[str, list[tuple[int, int, int]]] = {}
        self._rows: list[OutputRow] = []
        self._faults: list[EventFault] = []

    def listen(self, engine: Engine) -> None:
        """Hears everything that the engine's plan exports."""
        self._schemas = engine.plan.schemas
        self._places = {name: [] for name in engine.plan.channels}
        for name in engine.plan.exported:
            self._export(engine, name)
            if name in self._places:
                self._place(engine, name)
        for name in engine.plan.stored:
            self._export_table(engine, name)

    def _export(self, engine: Engine, name: str) -> None:
        def listen(chunk: list[StreamEvent]) -> None:
            for event in chunk:
                self._row(name, event.timestamp_ms, event.data)

        engine.junction(name).listen(listen)

    def _place(self, engine: Engine, name: str) -> None:
        def listen(chunk: list[StreamEvent]) -> None:
            self._places[name] += [(self.moment, engine.now, self._chunk)] * len(chunk)
            self._chunk += 1

        engine.junction(name).listen(listen)

    def _export_table(self, engine: Engine, name: str) -> None:
        def listen(operation: Operation, data: tuple[Any, ...]) -> None:
            self._row(name, engine.now, data, operation)

        engine.tables[name].listen(listen)

    def _row(
        self,
        stream: str,
        timestamp_ms: int,
        data: tuple[Any, ...],
        operation: Operation = Operation.EVENT,
    ) -> None:
        identity = OutputId(self._position, self._ordinal)
        self._ordinal += 1
        self._rows.append(OutputRow(identity, stream, timestamp_ms, data, operation))

    def fault(
        self, stream: str, events: Sequence[StreamEvent], query: str | None, error: BaseException
    ) -> None:
        """Events were dropped (operators.errors.FaultListener).

        Inner and fault streams are told under their plain names, which dead letters can carry.
        """
        dropped = tuple(Event(event.timestamp_ms, event.data) for event in events)
        name = stream.lstrip("#!")
        self._faults.append(EventFault(self._position, name, dropped, query, describe(error)))

    def begin(self, position: Position) -> None:
        """What follows is caused by the record at this position."""
        self._position, self._ordinal, self.moment, self._chunk = position, 0, 0, 0

    def take(self) -> tuple[Sequence[OutputRow], tuple[EventFault, ...]]:
        """Rows and faults since the last call; rows in columns where some are a channel's."""
        rows, faults = tuple(self._rows), tuple(self._faults)
        self._rows, self._faults = [], []
        return (self._placed(rows) if any(self._places.values()) else rows), faults

    def _placed(self, rows: Sequence[OutputRow]) -> RowsOfColumns:
        return RowsOfColumns(map(self._with_places, in_columns(rows, self._schemas).columns))

    def _with_places(self, columns: OutputColumns) -> OutputColumns:
        found = self._places.get(columns.stream)
        if found is None:
            return columns
        self._places[columns.stream] = []
        return replace(columns, places=Places(*np.array(found, np.int64).T))
