"""Keeps events that do not fit the app, and repeated ones, away from its queries.

After an upgrade the log may still hold events of streams that are gone or have other attributes; a
send that was repeated very late, or by another receiver, stands in it twice. Every replica sieves
alike. Pure but for the memory of sends; looks at headers alone, unless a part of a record is left
out, or the definition of its stream has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockstep.events import StreamSchema, TickRecord
from lockstep.events.codec import (
    EncodedEntry,
    EventColumns,
    EventsHeader,
    encode_columns,
    encode_record,
    send_ids_in,
)
from lockstep.execute.contract import EventFault
from lockstep.execute.fitting import fitted
from lockstep.execute.sends import SendMemory


@dataclass(frozen=True, slots=True)
class Sieved:
    """Entries to fold (a tick stands in for one of which nothing is left), what was refused, how
    many events pass, and how many were there before.
    """

    entries: Sequence[EncodedEntry]
    faults: Sequence[EventFault]
    events: int
    repeated: int


def sieve(
    entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema], sends: SendMemory
) -> Sieved:
    """Sorts events by whether the app can take them. Errors: CodecError."""
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
            fit = fitted(new, header, schemas.get(header.stream))
            faults += fit.faults
            events += fit.events
            kept.append(_tick(entry) if fit.entry is None else fit.entry)
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


def _tick(entry: EncodedEntry) -> EncodedEntry:
    return EncodedEntry(entry.position, encode_record(TickRecord(entry.header.clock_ms)))
