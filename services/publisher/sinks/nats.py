"""@sink(type='nats'): rows as messages on the suite's bus, each with its identity as message id.

A JetStream stream at the destination drops repeated ids by itself.
"""

from __future__ import annotations

from typing import Final

from lockstep.bus import Topics
from lockstep.events import OutputId
from lockstep.siddhiql import ast
from lockstep.store import Cursors
from services.publisher.contract import Batch, SinkPlace, SinkSetupError
from services.publisher.payload import Payload, event_of
from services.publisher.sinks.cursor import StoredCursor

ID_HEADER: Final = "Nats-Msg-Id"
RESERVED: Final = ("control.", "in.", "out.", "dead.", "$")


class NatsSink(StoredCursor):
    """Options: `destination` (a subject, may hold `{{attribute}}`)."""

    def __init__(
        self, place: SinkPlace, annotation: ast.Annotation, cursors: Cursors, topics: Topics
    ) -> None:
        super().__init__(place, cursors)
        destination = annotation.get("destination")
        if not destination:
            raise SinkSetupError("a nats sink needs a destination", where=place.key)
        if destination.startswith(RESERVED):
            raise SinkSetupError(
                f"the subject '{destination}' belongs to the suite", where=place.key
            )
        self._payload = Payload(place.schema, annotation, place.key)
        self._destination = self._payload.template(destination)
        self._sent: OutputId | None = None
        self._topics = topics

    async def send(self, batch: Batch) -> None:
        """One message a row."""
        for row in batch.rows:
            if self._sent is not None and row.id <= self._sent:
                continue
            subject = self._destination.fill(event_of(row)).replace(" ", "_")
            headers = {
                ID_HEADER: self.place.row_id(row),
                "Content-Type": self._payload.content_type,
                "Timestamp-Ms": str(row.timestamp_ms),
            }
            await self._topics.publish(subject, self._payload.render(row), headers=headers)
            self._sent = row.id
