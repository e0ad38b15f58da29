"""Events, schemas, log records, identities and errors: the words every other package speaks."""

from lockstep.events.errors import (
    Fault,
    FencedError,
    InvalidEventError,
    LockstepError,
    UnavailableError,
    describe,
)
from lockstep.events.event import Event
from lockstep.events.records import (
    ClaimRecord,
    EventsRecord,
    Generation,
    InputEvent,
    InputRecord,
    Life,
    LogEntry,
    Operation,
    OutputId,
    OutputLogRecord,
    OutputRecord,
    OutputRow,
    Position,
    TickRecord,
    WriteRecord,
)
from lockstep.events.schema import NUMERIC_TYPES, Attribute, AttributeType, StreamSchema

__all__ = [
    "NUMERIC_TYPES",
    "Attribute",
    "AttributeType",
    "ClaimRecord",
    "Event",
    "EventsRecord",
    "Fault",
    "FencedError",
    "Generation",
    "InputEvent",
    "InputRecord",
    "InvalidEventError",
    "Life",
    "LockstepError",
    "LogEntry",
    "Operation",
    "OutputId",
    "OutputLogRecord",
    "OutputRecord",
    "OutputRow",
    "Position",
    "StreamSchema",
    "TickRecord",
    "UnavailableError",
    "WriteRecord",
    "describe",
]
