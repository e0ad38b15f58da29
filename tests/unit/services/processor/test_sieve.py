"""Events that no longer fit the app are refused alike by every replica."""

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from lockstep.events import (
    Attribute,
    AttributeType,
    Event,
    EventsRecord,
    InputEvent,
    OutputId,
    StreamSchema,
    TickRecord,
)
from lockstep.events.codec import (
    EncodedEntry,
    EventColumns,
    EventsHeader,
    decode_input,
    encode_columns,
    encode_record,
    send_id_of,
)
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve
from lockstep.plan import plan_of

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
    ("before", "values", "after", "passing", "why"),
    [
        ("string", ("5", None), "int", [None], "'S.a' holds string; the app has int: '5'"),
        ("int", (5, None), "string", [None], "'S.a' holds int; the app has string: 5"),
        ("bool", (True, None), "int", [None], "'S.a' holds bool; the app has int: True"),
        ("object", ([1], None), "string", [None], "'S.a' holds object; the app has string: [1]"),
        (
            "long",
            (1, 1 << 31, -(1 << 31), None, -(1 << 31) - 1),
            "int",
            [1, -(1 << 31), None],
            "'S.a' holds a long that is no int: 2147483648, -2147483649",
        ),
        (
            "double",
            (2.0**63, 2.0, 1.5, -(2.0**63), math.inf, -math.inf, math.nan),
            "long",
            [2, -(1 << 63)],
            "'S.a' holds a double that is no long: 9.223372036854776e+18, 1.5, inf, -inf, nan",
        ),
        (
            "float",
            (0.5, 2.0**31, 7.0, -(2.0**31)),
            "int",
            [7, -(1 << 31)],
            "'S.a' holds a float that is no int: 0.5, 2147483648.0",
        ),
        ("double", (2.5, 3.0), "int", [3], "'S.a' holds a double that is no int: 2.5"),
    ],
)
def test_rows_that_do_not_fit_the_type_of_now_become_faults(
    before: str, values: tuple[Any, ...], after: str, passing: list[Any], why: str
) -> None:
    """They alone: those beside them pass, in their order, each with its time."""
    record = of_before(before, *values)
    sieved = sieve([record], of_type(after), SendMemory(10))
    (left,) = (decode_input(one.payload) for one in sieved.entries)
    assert isinstance(left, EventsRecord)
    found = [event for chunk in left.chunks for event in chunk]
    assert [event.data for event in found] == [(value,) for value in passing]
    (fault,) = sieved.faults
    assert fault.reason == why
    times = sorted([*(one.timestamp_ms for one in found), *(e.timestamp_ms for e in fault.events)])
    assert times == [5 + i for i in range(len(values))]
    assert (sieved.events, left.clock_ms) == (len(passing), 12)


WIDE = {
    "S": StreamSchema(
        "S",
        (
            Attribute("a", AttributeType.INT),
            Attribute("b", AttributeType.INT),
            Attribute("text", AttributeType.STRING),
        ),
    )
}


def wide(*chunks: Sequence[tuple[Any, Any, Any]]) -> EncodedEntry:
    """A record from when `a` was long and `b` was double; ids and times count the events."""
    number = count(1)
    made = tuple(
        tuple(InputEvent(at, data, f"id{at}") for data, at in zip(chunk, number, strict=False))
        for chunk in chunks
    )
    kinds = (AttributeType.LONG, AttributeType.DOUBLE, AttributeType.STRING)
    names = WIDE["S"].names
    schema = StreamSchema("S", tuple(map(Attribute, names, kinds)))
    return EncodedEntry(7, encode_record(EventsRecord("S", 12, made, True), {"S": schema}))


def test_a_row_that_does_not_fit_costs_none_of_those_beside_it() -> None:
    """They stay in their chunks, with times and ids; each refused one is told by the first
    attribute that it does not fit, with the values that it had."""
    entry = wide(
        [(1, 1.0, "x"), (1 << 40, 0.5, "y"), (3, 3.0, "z")],
        [(4, 4.5, "u")],
        [(5, 5.0, None), (1 << 41, 6.0, "v")],
    )
    sieved = sieve([entry], WIDE, SendMemory(10))
    (left,) = (decode_input(one.payload) for one in sieved.entries)
    assert isinstance(left, EventsRecord)
    assert left.chunks == (
        (InputEvent(1, (1, 1, "x"), "id1"), InputEvent(3, (3, 3, "z"), "id3")),
        (),
        (InputEvent(5, (5, 5, None), "id5"),),
    )
    assert [(one.position, one.reason, one.events) for one in sieved.faults] == [
        (
            7,
            "'S.a' holds a long that is no int: 1099511627776, 2199023255552",
            (Event(2, (1 << 40, 0.5, "y")), Event(6, (1 << 41, 6.0, "v"))),
        ),
        (7, "'S.b' holds a double that is no int: 4.5", (Event(4, (4, 4.5, "u")),)),
    ]
    assert sieved.events == 3


def test_a_record_of_which_no_row_fits_lets_time_pass() -> None:
    """And of many values, or long ones, the reason has the first ones."""
    texts = ["x" * 200, *(f"n{i}" for i in range(7))]
    sieved = sieve([of_before("string", *texts)], of_type("int"), SendMemory(10))
    assert [decode_input(one.payload) for one in sieved.entries] == [TickRecord(12)]
    (fault,) = sieved.faults
    assert fault.reason.startswith("'S.a' holds string; the app has int: 'xxx")
    assert fault.reason.endswith("xxx…, 'n0', 'n1', 'n2', 'n3' and 3 more")
    assert [event.data for event in fault.events] == [(each,) for each in texts]
    assert sieved.events == 0


@pytest.mark.parametrize("playback", ["", "@app:playback "])
def test_executors_fold_what_is_left_of_a_record_alike(playback: str) -> None:
    """Rows are counted from the position of the record on, however many were refused in front."""
    plan = plan_of(
        f"{playback}define stream S (a int, b int, text string);"
        "from S#window.length(2) select a, b insert into Out;"
    )
    entry = wide(
        [(1 << 40, 1.0, "x"), (2, 2.0, "y")], [(3, 0.5, "z")], [(4, 4.0, None), (5, 5.0, "v")]
    )
    sieved = sieve([entry], plan.schemas, SendMemory(10))
    rows = [
        list(executor.run_encoded(sieved.entries).rows)
        for executor in (ReferenceExecutor(plan), InProcessExecutor(plan))
    ]
    assert [(row.id, row.data) for row in rows[0]] == [
        (OutputId(7, 0), (2, 2)),
        (OutputId(7, 1), (4, 4)),
        (OutputId(7, 2), (5, 5)),
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("now", "passing"),
    [
        ("x int, y int", (1, 2)),
        ("y int, x int", (2, 1)),
        ("y long, x double", (2, 1.0)),
        ("x int, z int", (1, 2)),
        ("z int, y int", (1, 2)),
        ("y int, z int", (2, 1)),
        ("u int, v int", (1, 2)),
    ],
)
def test_attributes_take_their_columns_by_name(now: str, passing: tuple[Any, ...]) -> None:
    """In whatever order; what has a name that the record does not know takes what is left over."""
    had, has = ({"S": schema_of(text)} for text in ("x int, y int", now))
    record = EventsRecord("S", 12, ((InputEvent(1, (1, 2)),),))
    sieved = sieve([EncodedEntry(1, encode_record(record, had))], has, SendMemory(10))
    (left,) = (decode_input(one.payload) for one in sieved.entries)
    assert isinstance(left, EventsRecord)
    assert [event.data for chunk in left.chunks for event in chunk] == [passing]
    assert (sieved.faults, sieved.events) == ([], 1)


def schema_of(text: str) -> StreamSchema:
    """Of the stream with those attributes."""
    pairs = (each.split() for each in text.split(", "))
    return StreamSchema("S", tuple(Attribute(name, AttributeType(kind)) for name, kind in pairs))


def test_a_refused_row_has_its_values_in_the_order_of_now() -> None:
    """As the names beside them in its letter."""
    before, now = schema_of("x long, y int"), schema_of("y int, x int")
    record = EventsRecord("S", 12, ((InputEvent(1, (1 << 40, 2)),),))
    sieved = sieve(
        [EncodedEntry(1, encode_record(record, {"S": before}))], {"S": now}, SendMemory(10)
    )
    (fault,) = sieved.faults
    assert fault.reason == "'S.x' holds a long that is no int: 1099511627776"
    assert fault.events == (Event(1, (2, 1 << 40)),)


def test_attributes_that_are_called_as_columns_without_names_are() -> None:
    """A record that is written from columns does not say such names."""
    had, has = ({"S": schema_of(text)} for text in ("c0 int, c1 string", "c1 string, c0 int"))
    record = EventsRecord("S", 12, ((InputEvent(1, (1, "a")),),))
    columns = EncodedEntry(1, encode_record(record, had)).columns()
    assert isinstance(columns, EventColumns)
    sieved = sieve([EncodedEntry(1, encode_columns(columns))], has, SendMemory(10))
    (left,) = (decode_input(one.payload) for one in sieved.entries)
    assert isinstance(left, EventsRecord)
    assert [event.data for chunk in left.chunks for event in chunk] == [("a", 1)]


def test_what_a_record_says_of_key_groups_goes_with_the_order_of_its_columns() -> None:
    """A receiver may have found them for the text of now, in columns of before."""
    before, now = schema_of("x int, y int"), schema_of("y int, x int")
    record = EventsRecord("S", 12, ((InputEvent(1, (1, 2)),),))
    payload = encode_record(record, {"S": before}, index=lambda _: ((b"key", b"\x01"),))
    sieved = sieve([EncodedEntry(1, payload)], {"S": now}, SendMemory(10))
    header = sieved.entries[0].header
    assert isinstance(header, EventsHeader)
    assert (header.batch.names, header.keyings) == (("y", "x"), ())


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
