"""Records that no longer fit the app are refused alike by every replica."""

from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    StreamSchema,
    TickRecord,
)
from lockstep.events.codec import EncodedEntry, decode_input, encode_record, send_id_of
from lockstep_services.processor.state.sends import SendMemory
from lockstep_services.processor.state.sieve import sieve

SCHEMAS = {"S": StreamSchema("S", (Attribute("a", AttributeType.INT),))}


def entry(position: int, stream: str, *data: object, send_id: bytes = b"") -> EncodedEntry:
    """A record of one event."""
    chunk = (InputEvent(1, tuple(data)),)
    record = EventsRecord(stream, 10 + position, (chunk,))
    return EncodedEntry(position, encode_record(record, send_id=send_id))


def test_fitting_entries_pass_untouched() -> None:
    """Events are counted, ticks are none."""
    entries = [entry(1, "S", 5), EncodedEntry(2, encode_record(TickRecord(9)))]
    sieved = sieve(entries, SCHEMAS, SendMemory(10))
    assert (sieved.entries, sieved.faults, sieved.events) == (entries, [], 1)


def test_a_stream_that_is_gone_and_a_wrong_width_become_faults() -> None:
    """A tick keeps their place and their time."""
    entries = [entry(1, "Old", 5), entry(2, "S", 5), entry(3, "S", 5, 6)]
    sieved = sieve(entries, SCHEMAS, SendMemory(10))
    records = [decode_input(one.payload) for one in sieved.entries]
    assert [type(one) for one in records] == [TickRecord, EventsRecord, TickRecord]
    assert [one.clock_ms for one in records] == [11, 12, 13]
    assert [(one.position, one.stream) for one in sieved.faults] == [(1, "Old"), (3, "S")]
    assert "no stream 'Old'" in sieved.faults[0].reason
    assert sieved.faults[1].events[0].data == (5, 6)


def test_a_send_that_stands_in_the_log_twice_passes_once() -> None:
    """However far apart, also when a revision lies between; a tick keeps the second one's time."""
    first, other = send_id_of("a#0"), send_id_of("b#0")
    before = SendMemory(10)
    sieve([entry(1, "S", 5, send_id=first)], SCHEMAS, before)
    after = SendMemory.restored(before.snapshot(), default_limit=99)
    entries = [
        entry(8, "S", 5, send_id=first),
        entry(9, "S", 6, send_id=other),
        entry(10, "S", 7),
        entry(11, "S", 7),
    ]
    sieved = sieve(entries, SCHEMAS, after)
    assert decode_input(sieved.entries[0].payload) == TickRecord(18)
    assert list(sieved.entries[1:]) == entries[1:]
    assert (sieved.events, sieved.repeated, sieved.faults) == (3, 1, [])


def test_the_memory_of_sends_has_a_limit_that_belongs_to_the_state() -> None:
    """The oldest ids go; a replica with other settings restores the limit with the ids."""
    memory = SendMemory(2)
    ids = [send_id_of(str(i)) for i in range(3)]
    assert [memory.is_repeated(one) for one in [*ids, ids[2], ids[1]]] == [False] * 3 + [True] * 2
    restored = SendMemory.restored(memory.snapshot(), default_limit=1000)
    assert len(restored) == 2
    assert [restored.is_repeated(one) for one in (ids[0], ids[1], ids[2])] == [False] * 3
