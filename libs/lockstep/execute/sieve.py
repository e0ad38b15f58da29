"""Keeps records that do not fit the app, and repeated ones, away from its queries.

After an upgrade the log may still hold events of streams that are gone or have other attributes; a
send that was repeated very late, or by another receiver, stands in it twice. Every replica sieves
alike. Pure but for the memory of sends; looks at headers alone, unless a part of a record is left
out, or an attribute has got another type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from lockstep.events import (
    Attribute,
    AttributeType,
    Event,
    EventsRecord,
    StreamSchema,
    TickRecord,
)
from lockstep.events.codec import (
    EncodedEntry,
    EventColumns,
    EventsHeader,
    encode_columns,
    encode_record,
    send_ids_in,
)
from lockstep.events.columns import ARROW_TYPES, CODES, arrow_schema
from lockstep.execute.contract import EventFault
from lockstep.execute.sends import SendMemory


@dataclass(frozen=True, slots=True)
class Sieved:
    """Entries to fold (a tick stands in for one that is left out), what was refused, how many
    events pass, and how many were there before.
    """

    entries: Sequence[EncodedEntry]
    faults: Sequence[EventFault]
    events: int
    repeated: int


def sieve(
    entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema], sends: SendMemory
) -> Sieved:
    """Sorts records by whether the app can take them. Errors: CodecError."""
    faults: list[EventFault] = []
    kept: list[EncodedEntry] = []
    events = repeated = 0
    sends.mark()
    for entry in entries:
        header = entry.header
        if not isinstance(header, EventsHeader):
            kept.append(entry)
        else:
            found = _first_time(entry, header, sends)
            repeated += header.events
            if found is None:
                kept.append(_tick(entry))
                continue
            new, header = found
            repeated -= header.events
            fitting = _fitting(new, header, schemas)
            if isinstance(fitting, str):
                faults.append(_refused(new, fitting))
                kept.append(_tick(entry))
            else:
                events += header.events
                kept.append(fitting)
    return Sieved(kept, faults, events, repeated)


def _first_time(
    entry: EncodedEntry, header: EventsHeader, sends: SendMemory
) -> tuple[EncodedEntry, EventsHeader] | None:
    """The record without the sends that were there before; None where all of it was."""
    ids = send_ids_in(header)
    gone = [i for i, one in enumerate(ids) if sends.is_repeated(one, entry.position)]
    if not gone:
        return entry, header
    if len(gone) == len(ids):
        return None
    columns = entry.columns()
    assert isinstance(columns, EventColumns)
    rest = EncodedEntry(entry.position, encode_columns(columns.without_chunks(gone)))
    assert isinstance(rest.header, EventsHeader)
    return rest, rest.header


_NUMBERS: Final = frozenset("ilfd")
_NAMES: Final = {kind.value[0]: str(kind) for kind in AttributeType}


class _MisfitError(Exception):
    """Why a record does not fit."""


def _fitting(
    entry: EncodedEntry, header: EventsHeader, schemas: Mapping[str, StreamSchema]
) -> EncodedEntry | str:
    """The record in the types of the app, or why it does not fit."""
    schema = schemas.get(header.stream)
    if schema is None:
        return f"the app has no stream '{header.stream}' (any more)"
    width = len(schema.attributes)
    if header.attributes != width:
        return f"{header.attributes} values; stream '{header.stream}' has {width} attributes"
    if header.batch.codes == schema.codes:
        return entry
    columns = entry.columns()
    assert isinstance(columns, EventColumns)
    try:
        arrays = [
            _converted(*each, header.stream)
            for each in zip(
                header.batch.codes, columns.batch.columns, schema.attributes, strict=True
            )
        ]
    except _MisfitError as why:
        return str(why)
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
    return EncodedEntry(entry.position, encode_columns(replace(columns, batch=batch)))


def _converted(code: str, column: pa.Array, attribute: Attribute, stream: str) -> pa.Array:
    """The column in the type that its attribute has now. A number stays what it is, or becomes the
    nearest double or float. _MisfitError."""
    wanted = ARROW_TYPES[attribute.type]
    if CODES[code] == wanted:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), wanted)
    name = f"'{stream}.{attribute.name}'"
    if not {code, attribute.type.value[0]} <= _NUMBERS:
        raise _MisfitError(f"{name} holds {_NAMES[code]}; the app has {attribute.type}")
    try:
        return column.cast(wanted, safe=not pa.types.is_floating(wanted))
    except pa.ArrowInvalid as error:
        raise _MisfitError(f"{name} holds a {_NAMES[code]} that is no {attribute.type}") from error


def _refused(entry: EncodedEntry, reason: str) -> EventFault:
    record = entry.record()
    assert isinstance(record, EventsRecord)
    events = tuple(
        Event(event.timestamp_ms, event.data) for chunk in record.chunks for event in chunk
    )
    return EventFault(entry.position, record.stream, events, None, reason)


def _tick(entry: EncodedEntry) -> EncodedEntry:
    return EncodedEntry(entry.position, encode_record(TickRecord(entry.header.clock_ms)))
