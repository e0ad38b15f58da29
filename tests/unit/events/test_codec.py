"""The codec: exact types, clear refusals, columns without objects."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from lockstep.events import (
    Attribute,
    AttributeType,
    ClaimRecord,
    EventsRecord,
    Generation,
    InputEvent,
    InvalidEventError,
    Life,
    Operation,
    OutputId,
    OutputRecord,
    OutputRow,
    StreamSchema,
    TickRecord,
    WriteRecord,
)
from lockstep.events.codec import (
    FORMAT_VERSION,
    CodecError,
    EncodedEntry,
    EventColumns,
    EventsHeader,
    decode_columns,
    decode_input,
    decode_output,
    encode_batch,
    encode_record,
)
from lockstep.events.envelope import Kind, assembled, taken_apart
from lockstep.events.outputs import in_columns

ALL_TYPES = StreamSchema("S", tuple(Attribute(kind.value, kind) for kind in AttributeType))
ROW = ("x", 1, 2**62, 0.5, 0.1, True, {"a": (1, {2})})
NULLS = (None,) * len(AttributeType)


def record(*rows: tuple[object, ...], stream: str = "S") -> EventsRecord:
    """One chunk of events at time 5."""
    return EventsRecord(stream, 5, (tuple(InputEvent(5, row) for row in rows),))


def columns(payload: bytes) -> EventColumns:
    """The columns of an events record."""
    found = decode_columns(payload)
    assert isinstance(found, EventColumns)
    return found


def test_every_type_comes_back_exactly_with_and_without_a_schema() -> None:
    """Nulls, large numbers and objects included."""
    wanted = record(ROW, NULLS)
    assert decode_input(encode_record(wanted, {"S": ALL_TYPES})) == wanted
    assert decode_input(encode_record(wanted)) == wanted


def test_a_schema_gives_arrow_its_exact_types() -> None:
    """So that a reader of columns need not cast."""
    batch = columns(encode_record(record(ROW), {"S": ALL_TYPES})).batch
    assert batch.schema.names == [kind.value for kind in AttributeType]
    assert [str(kind) for kind in batch.schema.types] == [
        "string", "int32", "int64", "float", "double", "bool", "binary",
    ]  # fmt: skip


def test_columns_typed_by_their_values_conform_to_a_schema_later() -> None:
    """A record that was written without a schema is cast by whoever knows one."""
    schema = StreamSchema(
        "S", (Attribute("a", AttributeType.INT), Attribute("b", AttributeType.FLOAT))
    )
    found = columns(encode_record(record((1, 0.5), (None, None))))
    batch = found.conformed(schema)
    assert batch.to_pydict() == {"a": [1, None], "b": [0.5, None]}
    assert [str(kind) for kind in batch.schema.types] == ["int32", "float"]
    with pytest.raises(InvalidEventError) as caught:
        columns(encode_record(record((2**40, 0.5)))).conformed(schema)
    assert caught.value.field == "a"


def test_mixed_kinds_in_one_place_keep_their_kinds() -> None:
    """Without a schema 1, 1.0 and True stay what they are, and so do integers beyond 64 bits."""
    wanted = record((1, 2**70), (1.0, 2), (True, -(2**70)))
    found = decode_input(encode_record(wanted))
    assert found == wanted
    assert isinstance(found, EventsRecord)
    assert [type(event.data[0]) for event in found.chunks[0]] == [int, float, bool]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (("x", 2**31, 0, 0.0, 0.0, True, None), "int"),
        (("x", 0, 2**63, 0.0, 0.0, True, None), "long"),
        (("x", 0, 0, "y", 0.0, True, None), "float"),
        ((7, 0, 0, 0.0, 0.0, True, None), "string"),
        (("\ud800", 0, 0, 0.0, 0.0, True, None), "string"),
        (("x", 0, 0, 0.0, 0.0, True, object()), "object"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_field(row: tuple[object, ...], field: str) -> None:
    """The error names the attribute and the stream."""
    with pytest.raises(InvalidEventError) as caught:
        encode_record(record(row), {"S": ALL_TYPES})
    assert (caught.value.field, caught.value.where) == (field, f"S.{field}")


def test_rows_of_different_width_are_refused() -> None:
    """Within a stream every event has the same number of values."""
    with pytest.raises(InvalidEventError, match="values for"):
        encode_record(record((1,), (1, 2)))


def test_chunks_are_kept_with_their_lengths() -> None:
    """Uniform or not, empty ones included."""
    events = [InputEvent(i, (i,), f"id{i}" if i % 2 else None) for i in range(6)]
    for cut in ([6], [1] * 6, [2, 2, 2], [1, 3, 2], [0, 6, 0]):
        ends = np.cumsum(cut)
        chunks = tuple(tuple(events[end - size : end]) for end, size in zip(ends, cut, strict=True))
        wanted = EventsRecord("S", 9, chunks, has_timestamps=True)
        assert decode_input(encode_record(wanted)) == wanted
    nothing = EventsRecord("S", 9, ())
    assert decode_input(encode_record(nothing)) == nothing


def test_equal_timestamps_take_no_column() -> None:
    """The usual record of one moment stays small."""
    found = columns(encode_record(record((1,), (2,))))
    assert found.timestamps_ms is None
    assert found.timestamps().to_pylist() == [5, 5]


def test_a_batch_goes_in_and_out_as_columns() -> None:
    """Castable columns are cast; timestamps and ids come along."""
    schema = StreamSchema("S", (Attribute("n", AttributeType.INT),))
    batch = pa.record_batch({"n": pa.array([1, 2, 3], pa.int64())})
    payload = encode_batch(
        schema,
        batch,
        [1, 2],
        7,
        timestamps_ms=pa.array([1, 2, 3]),
        event_ids=pa.array(["a", None, "c"]),
    )
    wanted = EventsRecord(
        "S",
        7,
        (
            (InputEvent(1, (1,), "a"),),
            (InputEvent(2, (2,)), InputEvent(3, (3,), "c")),
        ),
        has_timestamps=True,
    )
    assert decode_input(payload) == wanted
    assert columns(payload).batch.column(0).type == pa.int32()


@pytest.mark.parametrize(
    ("lengths", "stamps"), [([1], None), ([1, 2], pa.array([1, None, 3], pa.int64()))]
)
def test_a_batch_that_contradicts_itself_is_refused(lengths: list[int], stamps: object) -> None:
    """Chunk lengths have to add up, and a timestamp is never null."""
    schema = StreamSchema("S", (Attribute("n", AttributeType.LONG),))
    batch = pa.record_batch({"n": pa.array([1, 2, 3])})
    with pytest.raises(InvalidEventError):
        encode_batch(schema, batch, lengths, 7, timestamps_ms=stamps)


def test_columns_lie_in_the_payload_itself() -> None:
    """Decoding columns copies nothing: the buffers are inside of what was received."""
    schema = StreamSchema("S", (Attribute("n", AttributeType.LONG),))
    batch = pa.record_batch({"n": pa.array(range(10_000))})
    payload = encode_batch(schema, batch, [10_000], 7)
    start = pa.py_buffer(payload).address
    found = columns(payload).batch.column(0).buffers()[1]
    assert start < found.address < start + len(payload)
    assert found.address % 8 == start % 8


def test_output_records_of_several_streams_keep_their_order() -> None:
    """Rows are stored by stream and come back by identity; deletions may be narrower."""
    rows = (
        OutputRow(OutputId(1, 0), "A", 3, ("x",)),
        OutputRow(OutputId(1, 1), "T", 3, (1, 2.5), Operation.UPSERT),
        OutputRow(OutputId(2, 0), "A", 4, (None,)),
        OutputRow(OutputId(2, 1), "T", 4, (1,), Operation.DELETE),
        OutputRow(OutputId(2, 2), "T", 4, (2, 2.5), Operation.EVENT),
    )
    wanted = OutputRecord(7, rows)
    found = decode_output(encode_record(wanted))
    assert found == wanted
    assert isinstance(found, OutputRecord)
    assert [type(row.operation) for row in found.rows] == [Operation] * 5


def test_output_rows_out_of_order_are_a_mistake_of_ours() -> None:
    """They would come back in another order than they were given."""
    rows = (OutputRow(OutputId(2, 0), "A", 3, ()), OutputRow(OutputId(1, 0), "A", 3, ()))
    with pytest.raises(ValueError, match="ascend"):
        encode_record(OutputRecord(1, rows))


def test_ticks_and_claims() -> None:
    """The small records."""
    assert decode_input(encode_record(TickRecord(17))) == TickRecord(17)
    claim = ClaimRecord(3, "nöde", 17)
    assert decode_output(encode_record(claim)) == claim
    of_a_state = ClaimRecord(3, "nöde", 17, Generation(Life(1_700_000_000_000, 4), 12))
    assert decode_output(encode_record(of_a_state)) == of_a_state


def test_a_claim_of_an_earlier_release_bears_no_generation() -> None:
    """Its header ends before that."""

    class EarlierHeader(msgspec.Struct, array_like=True):
        epoch: int
        holder: str
        clock_ms: int

    payload = assembled(Kind.CLAIM, EarlierHeader(3, "a", 17))
    assert decode_output(payload) == ClaimRecord(3, "a", 17, None)


def test_another_version_is_refused_by_name() -> None:
    """A node that is too old says so instead of guessing."""
    payload = bytes([FORMAT_VERSION + 1]) + encode_record(TickRecord(1))[1:]
    with pytest.raises(CodecError, match=f"version {FORMAT_VERSION + 1}") as caught:
        decode_input(payload)
    assert caught.value.hint is not None


@pytest.mark.parametrize("payload", [b"", b"\x01", b"\x01\x09\0\0\0\0\0\0", b"\x01\x01\0\0\xff"])
def test_damaged_bytes_are_refused(payload: bytes) -> None:
    """Whatever they are, the error is ours."""
    with pytest.raises(CodecError):
        decode_input(payload)


def test_a_truncated_record_is_refused() -> None:
    """At every length."""
    payload = encode_record(record(ROW, NULLS), {"S": ALL_TYPES})
    for length in range(0, len(payload) - 8, 7):
        with pytest.raises(CodecError):
            decode_input(payload[:length])


def test_records_of_the_other_log_are_refused() -> None:
    """An output record is no input, and the other way round."""
    with pytest.raises(CodecError):
        decode_input(encode_record(ClaimRecord(1, "a", 5)))
    with pytest.raises(CodecError):
        decode_output(encode_record(TickRecord(1)))


@pytest.mark.processes
def test_reading_and_writing_output_records_loads_nothing_heavy() -> None:
    """Whoever only follows a log needs no pandas: 40 MB, and a second without anything else."""
    payload = encode_record(OutputRecord(1, (OutputRow(OutputId(1, 0), "A", 3, ("x", 1)),)))
    program = (
        "import sys; from lockstep.events.codec import decode_output, encode_record\n"
        f"found = decode_output({payload!r})\n"
        "assert encode_record(found) == "
        f"{payload!r} and found.rows[0].data == ('x', 1) and 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_entry_tells_what_it_is_from_its_header() -> None:
    """Writes, ticks, and how many events of which stream; what is no record is refused."""
    written = WriteRecord("delete T on T.k == 'ä'", "request 1", 17)
    payload = encode_record(written)
    entry = EncodedEntry(1, payload)
    assert decode_input(payload) == decode_columns(payload) == entry.record() == written
    assert (entry.is_write, entry.header.clock_ms) == (True, 17)
    assert not EncodedEntry(1, encode_record(TickRecord(17))).is_write
    some = EncodedEntry(1, encode_record(record(("x",)))).header
    assert isinstance(some, EventsHeader)
    assert (some.stream, some.events, some.attributes) == ("S", 1, 1)
    with pytest.raises(CodecError, match="expected a record of an output log"):
        decode_output(payload)
    for damaged in (b"", b"\1", payload[:1] + b"\x7f" + payload[2:]):
        with pytest.raises(CodecError):
            EncodedEntry(1, damaged).is_write  # noqa: B018


def test_a_header_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many look at it on its way, and whether they then want the columns or rows."""
    read: list[bytes] = []

    def counted(payload: bytes) -> Any:
        read.append(payload)
        return taken_apart(payload)

    monkeypatch.setattr("lockstep.events.codec.taken_apart", counted)
    entry = EncodedEntry(1, encode_record(record(("x",))))
    assert not entry.is_write
    assert entry.header.clock_ms == entry.columns().clock_ms == entry.record().clock_ms
    assert len(read) == 1


def test_rows_bear_the_names_and_types_of_their_stream() -> None:
    """What is null everywhere keeps its type; what does not fit is typed by its values."""
    schema = StreamSchema(
        "S", (Attribute("n", AttributeType.LONG), Attribute("place", AttributeType.STRING))
    )

    def columns_of_row(*data: object) -> pa.Schema:
        found = in_columns([OutputRow(OutputId(1, 0), "S", 5, data)], {"S": schema})
        return found.columns[0].batch.schema

    own = pa.schema([("n", pa.int64()), ("place", pa.string())])
    assert columns_of_row(1, None) == columns_of_row(1, "here") == own
    assert columns_of_row("one", None).names == ["c0", "c1"]
    assert columns_of_row(1).names == ["c0"]
