"""What a revision holds beside the executor's state: the app's text, and what was held back.

With the text a revision of an older version can still be folded on; with the held-back rows a
restored replica publishes exactly what nobody has published yet (design invariants 3 and 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from lockstep.events import Event, Fault, LockstepError, OutputRecord, OutputRow, Position
from lockstep.events.codec import decode_output, encode_record
from lockstep.events.objects import decode_object, encode_object
from lockstep.events.typed import from_msgpack
from lockstep.execute.contract import EventFault
from lockstep.operators.state import Bytes

FORMAT: Final = 1


class EnvelopeError(LockstepError):
    """A revision that this release cannot read."""

    fault = Fault.INTERNAL


class _Fault(msgspec.Struct, array_like=True, frozen=True):
    position: int
    stream: str
    timestamps_ms: list[int]
    rows: bytes
    query: str | None
    reason: str


class _Envelope(msgspec.Struct, array_like=True, frozen=True):
    format: int
    text: str
    held: bytes
    faults: list[_Fault]
    snapshot: memoryview  # of what is decoded: no copy of a large state
    sends: bytes = b""
    left_out: tuple[Position, ...] = ()
    progress: bytes = b""


class Contents(msgspec.Struct, frozen=True):
    """An app text, the executor's snapshot, the outputs up to it that were held back, which sends
    the log had brought (`SendMemory.snapshot`), which positions behind it are left out,
    and of a past that is folded how far it is (`past_progress.py`).
    """

    text: str
    snapshot: Bytes
    rows: Sequence[OutputRow]
    faults: tuple[EventFault, ...]
    sends: bytes = b""
    left_out: tuple[Position, ...] = ()
    progress: bytes = b""


def seal(contents: Contents) -> bytes:
    """As bytes."""
    rows = encode_record(OutputRecord(0, contents.rows)) if contents.rows else b""
    faults = [
        _Fault(
            fault.position,
            fault.stream,
            [event.timestamp_ms for event in fault.events],
            encode_object([event.data for event in fault.events]),
            fault.query,
            fault.reason,
        )
        for fault in contents.faults
    ]
    snapshot = memoryview(contents.snapshot)
    envelope = _Envelope(
        FORMAT, contents.text, rows, faults, snapshot, contents.sends, contents.left_out,
        contents.progress,
    )  # fmt: skip
    return msgspec.msgpack.encode(envelope)


def unseal(payload: bytes) -> Contents:
    """The contents; EnvelopeError for what another release wrote."""
    try:
        envelope = from_msgpack(payload, _Envelope)
    except msgspec.DecodeError as error:
        raise EnvelopeError(f"not a revision: {error}") from error
    if envelope.format != FORMAT:
        raise EnvelopeError(f"a revision of format {envelope.format}; this release reads {FORMAT}")
    rows: Sequence[OutputRow] = ()
    if envelope.held:
        record = decode_output(envelope.held)
        if not isinstance(record, OutputRecord):
            raise EnvelopeError("a revision's held-back rows are no rows")
        rows = record.rows
    faults = tuple(map(_fault, envelope.faults))
    return Contents(
        envelope.text, envelope.snapshot, rows, faults, envelope.sends, envelope.left_out,
        envelope.progress,
    )  # fmt: skip


def _fault(stored: _Fault) -> EventFault:
    data = decode_object(stored.rows)
    events = tuple(
        Event(timestamp_ms, values)
        for timestamp_ms, values in zip(stored.timestamps_ms, data, strict=True)
    )
    return EventFault(stored.position, stored.stream, events, stored.query, stored.reason)
