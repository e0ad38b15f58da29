"""@sink(type='log'): rows in the publisher's own log."""

from __future__ import annotations

from typing import Final

from lockstep.siddhiql import ast
from lockstep.store import Cursors
from lockstep.telemetry import Logger
from services.publisher.contract import Batch, SinkPlace
from services.publisher.payload import Payload
from services.publisher.sinks.cursor import StoredCursor

LEVELS: Final = {
    "TRACE": "debug", "DEBUG": "debug", "INFO": "info", "WARN": "warning", "ERROR": "error",
    "FATAL": "error",
}  # fmt: skip


class LogSink(StoredCursor):
    """Options: `priority` (INFO), `prefix` (app : stream)."""

    def __init__(
        self, place: SinkPlace, annotation: ast.Annotation, cursors: Cursors, log: Logger
    ) -> None:
        super().__init__(place, cursors)
        self._payload = Payload(place.schema, annotation, place.key)
        self._prefix = annotation.get("prefix") or f"{place.app} : {place.schema.name}"
        self._write = getattr(
            log, LEVELS.get((annotation.get("priority") or "INFO").upper(), "info")
        )

    async def send(self, batch: Batch) -> None:
        """One line a row."""
        for row in batch.rows:
            self._write(
                f"{self._prefix} : {self._payload.render(row).decode()}",
                id=self.place.row_id(row),
                timestamp_ms=row.timestamp_ms,
            )
