"""Keeps records that do not fit the app, and repeated ones, away from its queries.

After an upgrade the log may still hold events of streams that are gone or have other attributes; a
send that was repeated very late stands in it twice. Every replica sieves alike. Pure but for the
memory of sends; looks at the records' headers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep.bus import EncodedEntry
from lockstep.events import Event, EventsRecord, StreamSchema, TickRecord
from lockstep.events.codec import Summary, decode_input, encode_record, summary_of
from lockstep.execute.contract import EventFault
from lockstep_services.processor.state.sends import SendMemory


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
    for entry in entries:
        summary = summary_of(entry.payload)
        if summary is not None and sends.is_repeated(summary.send_id):
            repeated += summary.events
            kept.append(_tick(entry, summary.clock_ms))
            continue
        reason = None if summary is None else _misfit(summary, schemas)
        if reason is None:
            kept.append(entry)
            events += 0 if summary is None else summary.events
            continue
        fault, tick = _refused(entry, reason)
        faults.append(fault)
        kept.append(tick)
    return Sieved(kept, faults, events, repeated)


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
    return fault, _tick(entry, record.clock_ms)


def _tick(entry: EncodedEntry, clock_ms: int) -> EncodedEntry:
    return EncodedEntry(entry.position, encode_record(TickRecord(clock_ms)))
