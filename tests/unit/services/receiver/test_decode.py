"""Bodies in all formats: what is one chunk, what is refused alone, what as a whole."""

from typing import Any

import pyarrow as pa
import pytest

from lockstep.events import Attribute, AttributeType, EventsRecord, StreamSchema
from lockstep.events.codec import decode_input
from lockstep.frame.problems import Problem
from lockstep_services.receiver.arrow import decode_arrow
from lockstep_services.receiver.arrow_sizes import Bounds
from lockstep_services.receiver.decode import (
    JSON,
    MAX_ERRORS,
    NDJSON,
    MalformedBodyError,
    UnknownFormatError,
    decode_text,
    media_type,
)
from lockstep_services.receiver.mixed import decode_mixed
from lockstep_services.receiver.values import EventReader

SCHEMA = StreamSchema(
    "S", (Attribute("a", AttributeType.STRING), Attribute("v", AttributeType.INT))
)
BOUNDS = Bounds(max_events=50_000, max_bytes=1 << 20)


def json_chunks(body: bytes) -> list[list[tuple[object, ...]]]:
    """The data of a JSON body, chunk by chunk."""
    decoded = decode_text(JSON, body, EventReader(SCHEMA), max_refused=10)
    return [[event.data for event in chunk] for chunk in decoded.chunks]


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"x","v":1}',
        b'["x",1]',
        b'{"event":{"a":"x","v":1}}',
        b' [{"a":"x","v":1}] ',
        b'[["x",1]]',
        b'[{"event":{"a":"x","v":1}}]',
    ],
)
def test_all_forms_of_one_event(body: bytes) -> None:
    """Object, array of values, envelope, array of these."""
    assert json_chunks(body) == [[("x", 1)]]


def test_an_array_is_one_chunk() -> None:
    """Two events that came together stay together."""
    assert json_chunks(b'[{"a":"x","v":1},["y",2]]') == [[("x", 1), ("y", 2)]]


@pytest.mark.parametrize(
    "body",
    [b"", b"  ", b"{", b"[]", b"5", b'"x"', b"\xff\xfe", b'{"a":"x","v":1', b"[" * 2000],
)
def test_malformed_bodies_are_refused(body: bytes) -> None:
    """Never a crash."""
    with pytest.raises(MalformedBodyError):
        json_chunks(body)


def test_bodies_of_any_depth_are_refused() -> None:
    """Also those that can be decoded just so: never a crash."""
    for depth in [*range(900, 1_000), 5_000]:
        event = b'{"a":"x","v":' + b"[" * depth + b"]" * depth + b"}"
        for body in (event, b"[" + event + b"]"):
            with pytest.raises(MalformedBodyError):
                json_chunks(body)
        lines = decode_text(NDJSON, event + b'\n["x",1]', EventReader(SCHEMA), max_refused=10)
        assert ([one.line for one in lines.refused], len(lines.chunks)) == ([1], 1)
        line = b'{"stream":"S","event":' + event + b"}"
        _, refused = decode_mixed(line, lambda name: EventReader(SCHEMA), max_refused=1)
        assert len(refused) == 1


class DeepReader(EventReader):
    """Nothing is shallow enough for it."""

    def read(self, value: Any) -> Any:
        """Raises."""
        raise RecursionError


def test_what_no_reader_can_follow_is_refused() -> None:
    """With the limit, and of lines each by itself."""
    event = b'{"a":5,"v":1}'
    with pytest.raises(MalformedBodyError, match="nested too deep") as caught:
        decode_text(JSON, event, DeepReader(SCHEMA), max_refused=1)
    assert caught.value.hint == "lists and objects may be nested 100 deep"
    decoded = decode_text(NDJSON, event + b'\n{"a":"x","v":1}', DeepReader(SCHEMA), max_refused=1)
    assert (decoded.refused[0].reason, len(decoded.chunks)) == ("it is nested too deep", 1)


def test_what_is_malformed_is_said_once() -> None:
    """And where."""
    with pytest.raises(MalformedBodyError) as caught:
        json_chunks(b"nonsense")
    assert caught.value.message == "malformed JSON: invalid character (byte 4)"


def test_a_chunk_with_one_bad_event_is_refused_whole_with_its_place() -> None:
    """All of it or nothing."""
    with pytest.raises(MalformedBodyError) as caught:
        json_chunks(b'[{"a":"x","v":1},{"a":"y","v":"2"}]')
    assert [error.field for error in caught.value.errors] == ["[1].v"]


def test_of_very_many_bad_events_not_all_is_told() -> None:
    """It would take hundreds of times as much memory as the body; how many they are is told."""
    with pytest.raises(MalformedBodyError, match="9000 of 9001 events") as caught:
        json_chunks(b'[{"a":"x","v":1}' + b",{}" * 9_000 + b"]")
    assert MAX_ERRORS <= len(caught.value.errors) < MAX_ERRORS + len(SCHEMA.names)


def test_lines_are_chunks_of_one_and_fail_alone() -> None:
    """Good lines pass; bad ones keep their number and bytes."""
    body = b'{"a":"x","v":1}\n\nnonsense\n{"a":1,"v":2}\n["y",2]\n'
    decoded = decode_text(NDJSON, body, EventReader(SCHEMA), max_refused=10)
    assert [[event.data for event in chunk] for chunk in decoded.chunks] == [[("x", 1)], [("y", 2)]]
    assert [(one.line, one.payload) for one in decoded.refused] == [
        (3, b"nonsense"),
        (4, b'{"a":1,"v":2}'),
    ]
    assert "a: expected string" in decoded.refused[1].reason


def test_too_many_bad_lines_refuse_the_body() -> None:
    """A body in the wrong format is not turned into a thousand dead letters."""
    with pytest.raises(MalformedBodyError, match="more than 2 lines"):
        decode_text(NDJSON, b"x\n" * 3, EventReader(SCHEMA), max_refused=2)


def test_content_types() -> None:
    """Parameters and aliases; unknown ones are refused with a hint."""
    assert media_type("application/json; charset=utf-8") == JSON
    assert media_type("application/jsonl") == NDJSON
    with pytest.raises(UnknownFormatError):
        media_type("image/png")


def arrow_body(*batches: pa.RecordBatch, options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    """An Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def test_arrow_batches_are_chunks_with_columns_by_name() -> None:
    """Any column order, wider integers that fit, a timestamp column."""
    batch = pa.record_batch(
        {"v": pa.array([1, 2], pa.int64()), "a": ["x", None], "_timestamp": pa.array([5, 6])}
    )
    for draft in decode_arrow(arrow_body(batch, batch), SCHEMA, BOUNDS):
        record = decode_input(draft.encoded(99))
        assert isinstance(record, EventsRecord)
        assert [[e.data for e in chunk] for chunk in record.chunks] == [[("x", 1), (None, 2)]]
        assert [event.timestamp_ms for event in record.chunks[0]] == [5, 6]


def test_arrow_rows_as_chunks_with_the_senders_time() -> None:
    """Each row a chunk; missing times get the sender's, and halves keep the chunks whole."""
    batch = pa.record_batch({"a": ["x", "y", "z"], "v": [1, 2, 3], "_timestamp": [5, None, 7]})
    (draft,) = decode_arrow(arrow_body(batch), SCHEMA, BOUNDS, row_chunks=True, timestamp_ms=6)
    halves = draft.halves()
    assert halves is not None
    chunks: list[Any] = []
    for half in halves:
        record = decode_input(half.encoded(99))
        assert isinstance(record, EventsRecord)
        chunks += record.chunks
    assert [[(e.timestamp_ms, e.data) for e in chunk] for chunk in chunks] == [
        [(5, ("x", 1))],
        [(6, ("y", 2))],
        [(7, ("z", 3))],
    ]


def test_arrow_columns_that_do_not_fit_are_named() -> None:
    """Wrong type, out of range, missing."""
    batch = pa.record_batch({"a": [1, 2], "w": ["x", "y"]})
    with pytest.raises(MalformedBodyError) as caught:
        decode_arrow(arrow_body(batch), SCHEMA, BOUNDS)
    assert [error.field for error in caught.value.errors] == ["a", "v"]
    big = pa.record_batch({"a": ["x"], "v": pa.array([2**40])})
    with pytest.raises(MalformedBodyError) as caught:
        decode_arrow(arrow_body(big), SCHEMA, BOUNDS)
    assert "range of int" in caught.value.errors[0].message


@pytest.mark.parametrize("body", [b"", b"hello", b"\x00" * 64])
def test_no_arrow_is_refused(body: bytes) -> None:
    """Never a crash."""
    with pytest.raises(MalformedBodyError):
        decode_arrow(body, SCHEMA, BOUNDS)


def test_mixed_lines_keep_their_order_as_runs() -> None:
    """Neighbours of one stream come together; times and ids of the line count."""
    readers = {"S": EventReader(SCHEMA), "T": EventReader(SCHEMA.renamed("T"))}
    body = (
        b'{"stream":"S","event":{"a":"x","v":1},"_timestamp":7}\n'
        b'{"stream":"S","event":["y",2]}\n{"stream":"T","event":{"a":"z","v":3}}\n'
        b'{"event":{}}\n{"stream":"S","event":{"a":"x","v":null}}'
    )
    runs, refused = decode_mixed(body, readers.__getitem__, max_refused=10)
    assert [(run.stream, run.events) for run in runs] == [("S", 2), ("T", 1), ("S", 1)]
    assert runs[0].chunks[0][0].timestamp_ms == 7
    assert [one.line for one in refused] == [4]


def test_forged_arrow_bytes_never_get_past_the_door() -> None:
    """Offsets and texts are checked: whoever folds the log trusts them. Any flipped byte is either
    harmless or refused."""
    batch = pa.record_batch({"a": ["x" * 9, "yy"], "v": pa.array([1, 2], pa.int32())})
    body = arrow_body(batch)
    refused = 0
    for at in range(8, len(body)):
        for flip in (0x01, 0x80, 0xFF):
            forged = bytearray(body)
            forged[at] ^= flip
            try:
                drafts = decode_arrow(bytes(forged), SCHEMA, BOUNDS)
            except (MalformedBodyError, Problem):  # it says to be larger than it may
                refused += 1
                continue
            for draft in drafts:
                record = decode_input(draft.encoded(7))
                assert isinstance(record, EventsRecord)
    assert refused > len(body)
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x02\0\0\0"), pa.py_buffer(b"\xff\xfe")]
    )
    with pytest.raises(MalformedBodyError):
        decode_arrow(arrow_body(pa.record_batch({"a": text, "v": pa.array([1])})), SCHEMA, BOUNDS)


def test_arrow_times_and_ids_that_do_not_fit_are_named() -> None:
    """Beyond 64 bits, and of another kind."""
    plain = {"a": ["x"], "v": pa.array([1], pa.int32())}
    for more in (
        {"_timestamp": pa.array([2**64 - 1], pa.uint64())},
        {"_timestamp": pa.array(["soon"])},
        {"_timestamp": pa.array([-1])},
        {"_id": pa.array([5], pa.timestamp("ms"))},
    ):
        with pytest.raises(MalformedBodyError) as caught:
            decode_arrow(arrow_body(pa.record_batch({**plain, **more})), SCHEMA, BOUNDS)
        assert [error.field for error in caught.value.errors] == list(more)


@pytest.mark.parametrize("timestamp", ["-1", "9223372036854775808", "1.5", '"1"', "true"])
def test_a_time_is_milliseconds_whichever_way_it_is_read(timestamp: str) -> None:
    """One event, several, lines, and lines that name their stream."""
    event = f'{{"a": "x", "v": 1, "_timestamp": {timestamp}}}'
    for body in (event, f"[{event}]", f"[{event}, {event}]"):
        with pytest.raises(MalformedBodyError):
            json_chunks(body.encode())
    reader = EventReader(SCHEMA)
    assert decode_text(NDJSON, event.encode(), reader, max_refused=9).refused
    line = f'{{"stream": "S", "event": ["x", 1], "_timestamp": {timestamp}}}'
    assert decode_mixed(line.encode(), lambda _: reader, max_refused=9)[1]
