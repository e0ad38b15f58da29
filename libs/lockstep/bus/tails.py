"""What every carrier does alike with output logs: who may append what, and records in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.bus.contract import OutputTail
from lockstep.bus.errors import RecordTooLargeError
from lockstep.events import ClaimRecord, OutputId, OutputRecord
from lockstep.events.codec import encode_record


def may_follow(tail: OutputTail, record: OutputRecord | ClaimRecord) -> bool:
    """Whether the log, ending so, may take the record: epochs never fall, a claim has a new one,
    no identity stands twice."""
    if isinstance(record, ClaimRecord):
        return record.epoch > tail.epoch
    if record.epoch < tail.epoch:
        return False
    return not record.rows or tail.last_id is None or record.rows[0].id > tail.last_id


def tail_after(tail: OutputTail, record: OutputRecord | ClaimRecord, sequence: int) -> OutputTail:
    """The tail once the record stands at `sequence`."""
    last_id = tail.last_id
    if isinstance(record, OutputRecord) and record.rows:
        last_id = record.rows[-1].id
    return OutputTail(sequence, record.epoch, last_id)


def pieces(
    record: OutputRecord | ClaimRecord, limit_bytes: int, where: str
) -> Iterator[tuple[OutputRecord | ClaimRecord, bytes]]:
    """The record, or parts of it in order, each with its bytes within the limit.

    Errors: RecordTooLargeError for a single row over it.
    """
    payload = encode_record(record)
    if len(payload) <= limit_bytes:
        yield record, payload
    elif isinstance(record, ClaimRecord) or len(record.rows) < 2:
        raise RecordTooLargeError(len(payload), limit_bytes, where=where)
    else:
        # As many as should do; a piece that is over it nevertheless is cut again.
        share = max(1, len(record.rows) * limit_bytes * 7 // (len(payload) * 8))
        share = min(share, (len(record.rows) + 1) // 2)
        for start in range(0, len(record.rows), share):
            rows = record.rows[start : start + share]
            yield from pieces(OutputRecord(record.epoch, rows), limit_bytes, where)


def id_text(last_id: OutputId | None) -> str:
    """An identity as text, for headers: `position.ordinal`, or nothing."""
    return "" if last_id is None else f"{last_id.position}.{last_id.ordinal}"


def id_of_text(text: str) -> OutputId | None:
    """What `id_text` was given."""
    if not text:
        return None
    position, _, ordinal = text.partition(".")
    return OutputId(int(position), int(ordinal))
