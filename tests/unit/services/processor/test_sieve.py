"""Records that no longer fit the app are refused alike by every replica."""

from lockstep.bus import EncodedEntry
from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    StreamSchema,
    TickRecord,
)
from lockstep.events.codec import decode_input, encode_record
from services.processor.sieve import sieve

SCHEMAS = {"S": StreamSchema("S", (Attribute("a", AttributeType.INT),))}


def entry(position: int, stream: str, *data: object) -> EncodedEntry:
    """A record of one event."""
    chunk = (InputEvent(1, tuple(data)),)
    record = EventsRecord(stream, 10 + position, (chunk,))
    return EncodedEntry(position, encode_record(record))


def test_fitting_entries_pass_untouched() -> None:
    """Events are counted, ticks are none."""
    entries = [entry(1, "S", 5), EncodedEntry(2, encode_record(TickRecord(9)))]
    sieved = sieve(entries, SCHEMAS)
    assert (sieved.entries, sieved.faults, sieved.events) == (entries, [], 1)


def test_a_stream_that_is_gone_and_a_wrong_width_become_faults() -> None:
    """A tick keeps their place and their time."""
    sieved = sieve([entry(1, "Old", 5), entry(2, "S", 5), entry(3, "S", 5, 6)], SCHEMAS)
    records = [decode_input(one.payload) for one in sieved.entries]
    assert [type(one) for one in records] == [TickRecord, EventsRecord, TickRecord]
    assert [one.clock_ms for one in records] == [11, 12, 13]
    assert [(one.position, one.stream) for one in sieved.faults] == [(1, "Old"), (3, "S")]
    assert "no stream 'Old'" in sieved.faults[0].reason
    assert sieved.faults[1].events[0].data == (5, 6)
