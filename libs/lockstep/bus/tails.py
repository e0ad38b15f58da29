"""What every carrier does alike with output logs: who may append what, and records in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lockstep.bus.contract import OutputTail
from lockstep.bus.errors import RecordTooLargeError
from lockstep.events import ClaimRecord, Generation, Life, OutputId, OutputRecord
from lockstep.events.codec import encode_record
from lockstep.events.outputs import first_id, last_id


def may_follow(tail: OutputTail, record: OutputRecord | ClaimRecord) -> bool:
    """Whether the log, ending so, may take the record: epochs never fall, a claim has a new one
    or begins a later generation, generations never fall, no identity stands twice."""
    if isinstance(record, ClaimRecord):
        there, new = tail.generation, record.generation
        goes_over = there is not None and new is not None and new.follows(there)
        newer = record.epoch > tail.epoch or (record.epoch == tail.epoch and goes_over)
        return newer and may_begin(tail, new)
    if record.epoch < tail.epoch:
        return False
    return not record.rows or tail.last_id is None or first_id(record.rows) > tail.last_id


def may_begin(tail: OutputTail, generation: Generation | None) -> bool:
    """Whether who claims with this generation may publish behind the tail: it is the log's, or a
    later one that begins behind all rows of the log."""
    before = tail.generation
    if before is None or generation is None or generation == before:
        return True
    is_behind = tail.last_id is None or tail.last_id.position <= generation.position
    return generation.follows(before) and is_behind


def tail_after(tail: OutputTail, record: OutputRecord | ClaimRecord, sequence: int) -> OutputTail:
    """The tail once the record stands at `sequence`."""
    if isinstance(record, ClaimRecord):
        generation = record.generation or tail.generation
        return OutputTail(sequence, record.epoch, tail.last_id, generation)
    last = last_id(record.rows) if record.rows else tail.last_id
    return OutputTail(sequence, record.epoch, last, tail.generation)


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
        count = len(record.rows)
        share = max(1, count * limit_bytes * 7 // (len(payload) * 8))
        share = min(share, (count + 1) // 2)
        for start in range(0, count, share):
            # In front of the last piece more of its positions is to come.
            settled = record.settled if start + share >= count else 0
            part = replace(record, rows=record.rows[start : start + share], settled=settled)
            yield from pieces(part, limit_bytes, where)


def id_text(last: OutputId | None) -> str:
    """An identity as text, for headers: `position.ordinal`, or nothing."""
    return "" if last is None else f"{last.position}.{last.ordinal}"


def id_of_text(text: str) -> OutputId | None:
    """What `id_text` was given."""
    if not text:
        return None
    position, _, ordinal = text.partition(".")
    return OutputId(int(position), int(ordinal))


def generation_text(generation: Generation | None) -> str:
    """A generation as text, for headers: `deployed_ms.number.position`, or nothing."""
    of = generation
    return "" if of is None else f"{of.life.deployed_ms}.{of.life.number}.{of.position}"


def generation_of_text(text: str) -> Generation | None:
    """What `generation_text` was given."""
    if not text:
        return None
    deployed_ms, number, position = text.split(".")
    return Generation(Life(int(deployed_ms), int(number)), int(position))
