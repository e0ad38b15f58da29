"""Records that no longer fit the app are refused alike by every replica."""

from typing import Any

import pytest

from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    StreamSchema,
    TickRecord,
)
from lockstep.events.codec import EncodedEntry, decode_input, encode_record, send_id_of
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve

SCHEMAS = {"S": StreamSchema("S", (Attribute("a", AttributeType.INT),))}


def entry(position: int, stream: str, *data: object, send_id: bytes = b"") -> EncodedEntry:
    """A record of one event."""
    chunk = (InputEvent(1, tuple(data)),)
    record = EventsRecord(stream, 10 + position, (chunk,))
    schemas = SCHEMAS if len(data) == 1 else None
    return EncodedEntry(position, encode_record(record, schemas, send_id=send_id))


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


def of_type(name: str) -> dict[str, StreamSchema]:
    """The stream with an attribute of that type."""
    return {"S": StreamSchema("S", (Attribute("a", AttributeType(name)),))}


def of_before(kind: str, *values: Any) -> EncodedEntry:
    """A record from when the attribute was of that type: the first event, then the others."""
    first, *others = (InputEvent(5 + i, (value,)) for i, value in enumerate(values))
    record = EventsRecord("S", 12, ((first,), tuple(others)))
    return EncodedEntry(1, encode_record(record, of_type(kind)))


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("int", (5, None), "long"),
        ("long", (5, -1), "int"),
        ("long", (1 << 53, None), "double"),
        ("long", ((1 << 60) + 1, None), "double"),
        ("int", (16_777_217, None), "float"),
        ("double", (3.0, None), "long"),
        ("float", (0.5, None), "double"),
        ("double", (0.1, None), "float"),
        ("string", (None, None), "int"),
        ("object", (None, None), "bool"),
    ],
)
def test_numbers_take_the_type_that_their_attribute_has_now(
    before: str, values: tuple[Any, ...], after: str
) -> None:
    """And so do nulls, so every executor reads the same: exactly what a sender would send now."""
    sieved = sieve([of_before(before, *values)], of_type(after), SendMemory(10))
    now = [None if each is None else type_of(after)(each) for each in values]
    assert [one.payload for one in sieved.entries] == [of_before(after, *now).payload]
    assert (sieved.faults, sieved.events) == ([], 2)


def type_of(name: str) -> type:
    """In which Python has a number of that type."""
    return int if name in ("int", "long") else float


@pytest.mark.parametrize(
    ("before", "values", "after", "why"),
    [
        ("string", ("5", None), "int", "'S.a' holds string; the app has int"),
        ("int", (5, None), "string", "'S.a' holds int; the app has string"),
        ("bool", (True, None), "int", "'S.a' holds bool; the app has int"),
        ("object", ([1], None), "string", "'S.a' holds object; the app has string"),
        ("long", (1, 1 << 40), "int", "'S.a' holds a long that is no int"),
        ("double", (1.5, 2.0), "long", "'S.a' holds a double that is no long"),
        ("double", (float("inf"), 2.0), "int", "'S.a' holds a double that is no int"),
    ],
)
def test_values_that_do_not_fit_the_type_of_now_become_faults(
    before: str, values: tuple[Any, ...], after: str, why: str
) -> None:
    """Nothing of their record is folded, and time passes."""
    sieved = sieve([of_before(before, *values)], of_type(after), SendMemory(10))
    assert [decode_input(one.payload) for one in sieved.entries] == [TickRecord(12)]
    assert [one.reason for one in sieved.faults] == [why]
    assert [event.data for event in sieved.faults[0].events] == [(value,) for value in values]
    assert sieved.events == 0


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


def test_of_several_sends_in_a_record_each_passes_once() -> None:
    """The others keep their chunks; a record that is known as a whole is a tick."""
    ids = [send_id_of(f"{n}#0") for n in range(4)]

    def shared(position: int, *numbers: int) -> EncodedEntry:
        chunks = tuple((InputEvent(1, (n,)),) for n in numbers)
        together = b"".join(ids[n] for n in numbers)
        record = EventsRecord("S", 10 + position, chunks)
        return EncodedEntry(position, encode_record(record, SCHEMAS, send_id=together))

    memory = SendMemory(10)
    entries = [
        entry(1, "S", 1, send_id=ids[1]),
        shared(2, 0, 1, 2, 2),
        shared(3, 2, 0),
        shared(4, 3),
    ]
    sieved = sieve(entries, SCHEMAS, memory)
    records = [decode_input(one.payload) for one in sieved.entries]
    given = [
        [event.data for chunk in one.chunks for event in chunk]
        for one in records
        if isinstance(one, EventsRecord)
    ]
    assert given == [[(1,)], [(0,), (2,)], [(3,)]]
    assert records[2] == TickRecord(13)
    assert (sieved.events, sieved.repeated) == (4, 4)
    memory.go_back(1)
    again = sieve([shared(2, 0, 1, 2, 2)], SCHEMAS, memory)
    assert (again.events, again.repeated) == (2, 2)


def test_the_memory_of_sends_has_a_limit_that_belongs_to_the_state() -> None:
    """The oldest ids go; a replica with other settings restores the limit with the ids."""
    memory = SendMemory(2)
    ids = [send_id_of(str(i)) for i in range(3)]
    told = [memory.is_repeated(one, at) for at, one in enumerate([*ids, ids[2], ids[1]])]
    assert told == [False] * 3 + [True] * 2
    restored = SendMemory.restored(memory.snapshot(), default_limit=1000)
    assert len(restored) == 2
    assert [restored.is_repeated(one, 9) for one in (ids[0], ids[1], ids[2])] == [False] * 3


def test_what_was_not_folded_was_not_brought() -> None:
    """A slice that ended early: the sends behind its end come again, and what went for them is
    known again."""
    ids = [send_id_of(str(i)) for i in range(4)]
    memory = SendMemory(2)
    sieve([entry(at + 1, "S", 5, send_id=ids[at]) for at in (0, 1)], SCHEMAS, memory)
    before = memory.snapshot()
    sieve([entry(at + 1, "S", 5, send_id=ids[at]) for at in (2, 3)], SCHEMAS, memory)
    memory.go_back(2)
    assert memory.snapshot() == before
    again = sieve([entry(at + 1, "S", 5, send_id=ids[at]) for at in (2, 3, 3)], SCHEMAS, memory)
    assert (again.events, again.repeated) == (2, 1)
    memory.go_back(3)
    assert [memory.is_repeated(one, 4) for one in (ids[1], ids[2], ids[3])] == [True, True, False]
