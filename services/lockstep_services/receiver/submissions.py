"""What is submitted to an input log, and how it becomes records: pure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lockstep.bus import Appended
from lockstep.events import Position, StreamSchema
from lockstep.events.codec import send_id_of
from lockstep_services.receiver.decode import Chunk
from lockstep_services.receiver.drafts import Draft, RowsDraft
from lockstep_services.receiver.runs import AnyRun, BatchRun, Run, behind


@dataclass(frozen=True, slots=True)
class Receipt:
    """The records that hold a submission; `duplicate` when they were there before."""

    first: Position
    last: Position
    duplicate: bool


@dataclass(slots=True)
class Submission:
    """Events that were sent together; `done` tells how it ended. `trace`: of the send. `key_of`:
    the stream that the key belongs to, where it is one of that alone. `stored`: how many of its
    chunks are durable, always the first ones."""

    runs: Sequence[AnyRun]
    key: str | None
    done: asyncio.Future[Receipt]
    size_bytes: int
    events: int
    trace: str = ""
    key_of: str = ""
    appended: list[Appended] = field(default_factory=list)
    stored: int = 0

    @property
    def is_one_chunk(self) -> bool:
        """It can stand in a record beside others, its key in the place of its chunk."""
        return (
            len(self.runs) == 1 and self.runs[0].chunk_count == 1 and isinstance(self.runs[0], Run)
        )

    def shares_with(self, other: Submission) -> bool:
        """Both may stand in one record: neither has a key, or each is one chunk with a key."""
        if self.key is None or other.key is None:
            return self.key is other.key
        return self.is_one_chunk and other.is_one_chunk


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """How much goes into one record, how long a first event waits for company, and how many appends
    of independent submissions are under way at once.
    """

    max_record_bytes: int
    max_record_events: int
    gather_ms: int
    max_abreast: int


Shares = Sequence[tuple[Submission, int]]
"""Whose the chunks of a record are, in order, and how many of each."""

Owned = tuple[Draft, Shares]


def drafts_of(batch: Sequence[Submission], limits: IntakeLimits) -> Iterator[Owned]:
    """Records to be, in order, with the submissions that they hold something of. What is durable
    already is left out.

    A new one begins for another stream, another stamping, an Arrow batch, or when one is full. The
    cuts depend on the submissions alone, so that a repeated key is cut as it was before.
    """
    gathering = _Gathering(limits)
    for pending in batch:
        for run in behind(pending.runs, pending.stored):
            if isinstance(run, BatchRun):
                yield from gathering.finish()
                for whole in run.batches:
                    for part in whole.cut(limits.max_record_bytes, limits.max_record_events):
                        yield part, ((pending, part.chunk_count),)
            else:
                yield from gathering.add(pending, run)
    yield from gathering.finish()


def halves_of(owned: Owned) -> tuple[Owned, Owned] | None:
    """Two records in place of one, each with its owners; None when there is one chunk only."""
    draft, shares = owned
    halves = draft.halves()
    if halves is None:
        return None
    left = halves[0].chunk_count
    first: list[tuple[Submission, int]] = []
    second: list[tuple[Submission, int]] = []
    for pending, chunks in shares:
        taken = min(left, chunks)
        left -= taken
        if taken:
            first.append((pending, taken))
        if chunks > taken:
            second.append((pending, chunks - taken))
    return (halves[0], first), (halves[1], second)


class _Gathering:
    """Chunks of several submissions on their way into one record."""

    def __init__(self, limits: IntakeLimits) -> None:
        self._limits = limits
        self._kind: tuple[StreamSchema, bool] | None = None
        self._chunks: list[Chunk] = []
        self._ids: list[bytes] = []
        self._owners: list[Submission] = []
        self._counts: list[int] = []
        self._size = self._events = 0

    def add(self, pending: Submission, run: Run) -> Iterator[Owned]:
        """Takes a run; gives what got full."""
        kind = (run.schema, run.has_timestamps)
        if kind != self._kind:
            yield from self.finish()
            self._kind = kind
        per_event = run.size_bytes / max(1, run.events)
        for chunk in run.chunks:
            size = int(len(chunk) * per_event)
            full = (
                self._size + size > self._limits.max_record_bytes
                or self._events + len(chunk) > self._limits.max_record_events
            )
            if full:
                yield from self.finish()
                self._kind = kind
            self._chunks.append(chunk)
            if pending.key is not None and pending.is_one_chunk:
                self._ids.append(send_id_of(f"{pending.key}#0"))
            if not self._owners or self._owners[-1] is not pending:
                self._owners.append(pending)
                self._counts.append(0)
            self._counts[-1] += 1
            self._size += size
            self._events += len(chunk)

    def finish(self) -> Iterator[Owned]:
        """What has been gathered."""
        if self._chunks and self._kind is not None:
            draft = RowsDraft(self._kind[0], self._chunks, self._ids)
            yield draft, list(zip(self._owners, self._counts, strict=True))
        self._kind, self._chunks, self._ids = None, [], []
        self._owners, self._counts = [], []
        self._size = self._events = 0


def receipt_of(appended: Sequence[Appended]) -> Receipt:
    """Of the records that hold a submission."""
    positions = [one.position for one in appended]
    return Receipt(min(positions), max(positions), all(one.duplicate for one in appended))
