"""What records tell of their way (door's time, trace), and that earlier releases read over it."""

from __future__ import annotations

from typing import Any

import msgspec

from lockstep.events import EventsRecord, InputEvent, OutputId, OutputRecord, OutputRow
from lockstep.events.codec import EncodedEntry, EventsHeader, decode_output, encode_record
from lockstep.events.envelope import Batch, OutputHeader, StreamRows, taken_apart

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EVENTS = EventsRecord("S", 5, ((InputEvent(5, ("a",)),),))
ROWS = (OutputRow(OutputId(1, 0), "T", 5, ("a",)),)


class _EarlierEvents(msgspec.Struct, array_like=True, frozen=True):
    """EventsHeader as the release before had it."""

    stream: str
    clock_ms: int
    has_timestamps: bool
    constant_ms: int
    chunks: int | bytes
    batch: Batch
    send_id: bytes = b""


class _EarlierOutput(msgspec.Struct, array_like=True, frozen=True):
    """OutputHeader as the release before had it."""

    epoch: int
    streams: tuple[StreamRows, ...]


def _read_as(kind: Any, header: Any) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(header), type=kind)


def test_an_input_record_bears_its_trace() -> None:
    """And its events are what they are without it."""
    entry = EncodedEntry(1, encode_record(EVENTS, trace=TRACE))
    assert isinstance(entry.header, EventsHeader)
    assert entry.header.trace == TRACE
    assert entry.record() == EVENTS
    assert _read_as(_EarlierEvents, entry.header).stream == "S"


def test_an_output_record_bears_when_the_door_took_it() -> None:
    """And its trace."""
    payload = encode_record(OutputRecord(3, ROWS, 77, TRACE))
    found = decode_output(payload)
    assert isinstance(found, OutputRecord)
    assert (found.door_ms, found.trace) == (77, TRACE)
    _, header, _ = taken_apart(payload)
    assert _read_as(_EarlierOutput, header).epoch == 3


def test_an_output_record_says_how_far_the_log_has_settled() -> None:
    """Of those who read it nobody else has to."""
    found = decode_output(encode_record(OutputRecord(3, ROWS, settled=9)))
    assert isinstance(found, OutputRecord)
    assert found.settled == 9


def test_what_an_earlier_release_wrote_bears_none() -> None:
    """Its headers are shorter."""
    _, header, _ = taken_apart(encode_record(OutputRecord(3, ROWS, 77, TRACE)))
    short = _EarlierOutput(header.epoch, header.streams)
    found = _read_as(OutputHeader, short)
    assert (found.door_ms, found.trace, found.settled) == (0, "", 0)
