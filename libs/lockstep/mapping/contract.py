"""What a mapper does: payloads into events, events into payloads (semantics 22)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lockstep.events import Event, Fault, LockstepError, StreamSchema
from lockstep.schemas import SchemaUser
from lockstep.siddhiql import ast

if TYPE_CHECKING:
    import pyarrow as pa  # loaded by what reads columns alone


@dataclass(frozen=True, slots=True)
class BadField:
    """What is wrong with the value of one attribute; None: with the event as a whole."""

    attribute: str | None
    message: str


class MappingError(LockstepError):
    """A payload, or a part of one, that does not map to the stream: the sender's fault.

    `fields`: all that is wrong; the message and `where` are the first of them. `item`: which event
    of the payload it was, from 1, or 0 for the payload as a whole. `piece`: that event alone as a
    payload of its own, where the format has such pieces.
    """

    fault = Fault.USER

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        fields: Sequence[BadField] = (),
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.fields = tuple(fields) or (BadField(where, message),)
        self.item = 0
        self.piece: bytes | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What an event says of itself: its time, and an id that is the same when it comes again."""

    timestamp_ms: int | None
    id: str | None


@dataclass
class Reading:
    """What a payload brought: chunks of events, and what was refused in it.

    `origins`: of each event in `chunks`; empty for a format whose events say nothing of the kind.
    """

    chunks: list[list[Event]] = field(default_factory=list)
    refused: list[MappingError] = field(default_factory=list)
    origins: list[list[Origin]] = field(default_factory=list)


Properties = Mapping[str, Any]
"""What the transport says about a payload (headers, key, …): `trp:name` in `@attributes`."""


class SourceMapper(Protocol):
    """Reads the payloads of one `@source`."""

    def read(self, payload: Any, now_ms: int, properties: Properties | None = None) -> Reading:
        """Events of a payload; those without a time of their own get `now_ms`. Never raises."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The events of a payload, column by column in the order of the stream's attributes.

    Each of `values` is an Arrow array in the type of `ARROW_TYPES`, but for attributes of type
    object: there it is the list of the values. `together`: all events are one chunk, else each is
    its own. `timestamps_ms` (int64) and `ids` (string): what events say of themselves, maybe with
    nulls; None where none does.
    """

    values: Sequence[pa.Array | list[Any]]
    events: int
    together: bool
    timestamps_ms: pa.Array | None = None
    ids: pa.Array | None = None


class ColumnsReader(Protocol):
    """Reads large payloads for a `SourceMapper`, without an object for each event."""

    def read(self, payload: Any, properties: Properties) -> Columns | None:
        """The events that the mapper would give; None where it has to look itself: at all that it
        would refuse, and at whatever is out of the ordinary. Never raises."""


class SinkMapper(Protocol):
    """Writes the payloads of one `@sink`."""

    def write(self, events: Sequence[Event]) -> list[Any]:
        """The payloads of a non-empty group of events of one chunk; any of UNMAPPABLE if one is
        bad (see reading), which a MessageWriter tells as a MappingError."""


@runtime_checkable
class UsesRegistry(Protocol):
    """A mapper that may have its schemas in a registry: they are brought before it maps."""

    registered: SchemaUser | None


SourceMapperFactory = Callable[[StreamSchema, ast.Annotation], SourceMapper]
SinkMapperFactory = Callable[[StreamSchema, ast.Annotation], SinkMapper]
"""Take the stream's schema and the `@map` annotation."""
