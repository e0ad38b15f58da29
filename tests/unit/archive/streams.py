"""An archive that a test fills: events of whatever streams and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.events import Attribute, AttributeType, EventsRecord, InputEvent, StreamSchema
from lockstep.events.codec import EncodedEntry, encode_record

TIME_MS = 1_700_000_000_000


class Archived:
    """Events of one app, stream by stream, of whatever types."""

    def __init__(self, place: Place, app: str = "Big") -> None:
        self.side = SideArchive(place, Logs(app, 7), INPUT)
        self.position = 0

    def take(self, stream: str, types: Mapping[str, AttributeType], *rows: Sequence[Any]) -> None:
        """In one record. Without types it is one of values alone, and of default names."""
        schema = StreamSchema(stream, tuple(Attribute(*one) for one in types.items()))
        self.position += 1
        events = tuple(InputEvent(TIME_MS, tuple(row)) for row in rows)
        schemas = {stream: schema} if types else None
        payload = encode_record(EventsRecord(stream, TIME_MS, (events,)), schemas)
        self.side.write(rows_of([EncodedEntry(self.position, payload)]))
