"""Keeps records that do not fit the app away from its queries.

After an upgrade the log may still hold events of streams that are gone or have other attributes.
Every replica sieves alike. Pure; looks at the records' headers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep.bus import EncodedEntry
from lockstep.events import Event, EventsRecord, StreamSchema, TickRecord
from lockstep.events.codec import Summary, decode_input, encode_record, summary_of
from lockstep.execute.contract import EventFault


@dataclass(frozen=True, slots=True)
class Sieved:
    """Entries to fold (a tick stands in for a refused one), what was refused, and how many pass."""

    entries: Sequence[EncodedEntry]
    faults: Sequence[EventFault]
    events: int


def sieve(entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]) -> Sieved:
    """Sorts records by whether the app can take them. Errors: CodecError."""
    faults: list[EventFault] = []
    kept: list[EncodedEntry] = []
    events = 0
    for entry in entries:
        summary = summary_of(entry.payload)
        reason = None if summary is None else _misfit(summary, schemas)
        if reason is None:
            kept.append(entry)
            events += 0 if summary is None else summary.events
            continue
        fault, tick = _refused(entry, reason)
        faults.append(fault)
        kept.append(tick)
    return Sieved(kept, faults, events)


def _misfit(summary: Summary, schemas: Mapping[str, StreamSchema]) -> str | None:
    schema = schemas.get(summary.stream)
    if schema is None:
        return f"the app has no stream '{summary.stream}' (any more)"
    width = len(schema.attributes)
    if summary.attributes == width:
        return None
    return f"{summary.attributes} values; stream '{summary.stream}' has {width} attributes"


def _refused(entry: EncodedEntry, reason: str) -> tuple[EventFault, EncodedEntry]:
    record = decode_input(entry.payload)
    assert isinstance(record, EventsRecord)
    events = tuple(
        Event(event.timestamp_ms, event.data) for chunk in record.chunks for event in chunk
    )
    fault = EventFault(entry.position, record.stream, events, None, reason)
    return fault, EncodedEntry(entry.position, encode_record(TickRecord(record.clock_ms)))
