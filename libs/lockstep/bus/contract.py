"""What a bus carries: input logs, output logs, dead letters, ingress and topics. One contract,
several carriers; the same suite tests them all. Everything is addressed by `subjects`.

Errors: UnavailableError when the carrier cannot be reached (retryable), LogFullError (retryable)
when a log's limit is reached, RecordTooLargeError when one record exceeds the carrier's limit,
FencedError never: a refused append is an outcome, not an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from lockstep.events import (
    ClaimRecord,
    Generation,
    InputRecord,
    LogEntry,
    OutputId,
    OutputLogRecord,
    OutputRecord,
    Position,
)
from lockstep.events.codec import EncodedEntry
from lockstep.events.since import with_since


@dataclass(frozen=True, slots=True, order=True)
class LogName:
    """Which log: (app, group, partition); the partition is counted from 0.

    `since_ms`: when the app's logs began. After a purge they begin anew under a later time, so what
    somebody does late to the ones before cannot meet them.
    """

    app: str
    group: str = "main"
    partition: int = 0
    since_ms: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """(app, group and since, partition): what else belongs to this log is kept under that."""
        return self.app, with_since(self.group, self.since_ms), self.partition


@dataclass(frozen=True, slots=True)
class Appended:
    """The record is durable at `position`; `duplicate` when its dedup id was there already."""

    position: Position
    duplicate: bool = False


class Coded(NamedTuple):
    """A record that `lockstep.events.codec` has encoded, and its id; see `append`."""

    payload: bytes
    dedup_id: str


class InputLog(Protocol):
    """A totally ordered, durable log of input records.

    Appends may be under way at the same time; they are stored in the order in which they were begun
    as long as none has to be repeated. One reader per opened log: open it again to read twice.
    """

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        """Durable when it returns. Equal dedup ids within the carrier's window are stored once."""

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[LogEntry]:
        """Entries behind `after` in order; waits up to `wait_ms` for the first, then returns what
        is there (maybe nothing). At least one entry is returned whatever its size. Positions may
        have gaps after trimming, never reorder."""

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        """As `append`, for a record that `lockstep.events.codec` has encoded already."""

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        """Each stands behind the one before it, whatever has to be repeated. All become durable at
        once where the carrier can do that; else some of the first may stand after an error."""

    async def read_encoded(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        """As `read`, without decoding: for columns, or to hand on as it is."""

    async def at(self, position: Position) -> EncodedEntry | None:
        """The record at the position that an append told. None: it is forgotten; one that was
        trimmed a carrier may have still. Moves no reader; any number may be asked for at a time.
        UnavailableError within the bus's own time."""

    async def bounds(self) -> tuple[Position, Position]:
        """(first kept position, last position); (last + 1, last) when nothing is kept."""

    async def trim(self, up_to: Position) -> None:
        """Forgets records up to and including `up_to`."""


@dataclass(frozen=True, slots=True)
class OutputTail:
    """Where an output log ends: sequence of its last record (0 if none), the epoch that wrote or
    claimed last (0 if none), the identity of the last row (None if no row yet), and the generation
    of the last claim that bore one."""

    sequence: int
    epoch: int
    last_id: OutputId | None
    generation: Generation | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The append stands at `sequence`; expect that next time."""

    sequence: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Somebody else appended: `tail` is the present end. The writer must step down or re-read."""

    tail: OutputTail


@dataclass(frozen=True, slots=True)
class OutputEntry:
    """A record of the output log at its sequence."""

    sequence: int
    record: OutputLogRecord


@dataclass(frozen=True, slots=True)
class Held:
    """What a log holds now; its bytes as its carrier counts them against the log's limit."""

    records: int
    size_bytes: int


class OutputLog(Protocol):
    """The log of what was published; it checks the permit itself (design invariant 4).

    `tail`, `held` and `trim` of a log that was removed after it was opened raise LogGoneError, or
    UnavailableError where the carrier cannot tell that from a log that is away for a while.
    """

    async def tail(self) -> OutputTail:
        """The present end, read from the carrier (never from a cache)."""

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        """Appends if and only if the log still ends at `expected_sequence`, no epoch falls and no
        generation does. A later generation begins behind every row, or is refused.

        A lost acknowledgement is retried inside, and recognised as done when the record is the
        tail. An OutputRecord larger than the carrier takes is appended in pieces, in order; a
        refusal in between leaves the first pieces standing, as the tail tells. After an
        UnavailableError the outcome is unknown: read the tail before appending again.
        """

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """As InputLog.read, by sequence."""

    async def held(self) -> Held:
        """How much it holds."""

    async def trim(self, up_to: int) -> None:
        """Forgets records up to and including sequence `up_to`; the last record always stays, as it
        carries the tail."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused event: original bytes, why, and where it was refused. `left_out_bytes`: so many of
    its end are missing, as the carrier takes no more. Such a letter cannot be sent again."""

    app: str
    stream: str
    reason: str
    payload: bytes
    content_type: str
    clock_ms: int
    origin: str
    position: Position | None = None
    left_out_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter at its sequence in dead.<app>.<stream>."""

    sequence: int
    letter: DeadLetter


LETTERS_BYTES: Final = 8_388_608
"""Of dead letters that are read at once: each may have as many as the carrier takes."""


class DeadLetters(Protocol):
    """Durable dead letters of all apps."""

    async def append(self, letter: DeadLetter, *, dedup_id: str | None = None) -> Appended:
        """Durable when it returns; gives the sequence, and whether its id was there already. No
        name is too long for it, and of a payload that is too large the beginning is kept: what was
        refused never disappears."""

    async def read(
        self,
        app: str,
        stream: str | None = None,
        *,
        after: int = 0,
        max_records: int = 100,
        max_bytes: int = LETTERS_BYTES,
    ) -> Sequence[StoredDeadLetter]:
        """Letters of an app (of one stream), oldest first, until they have more than `max_bytes`.
        So there may be more behind them, however few they are: only an empty answer is the end."""

    async def remove(self, sequences: Sequence[int]) -> int:
        """Deletes letters; gives how many were there."""


@dataclass(frozen=True, slots=True)
class IngressMessage:
    """A raw message from ingress.<app>.<stream>; `id` is stable across redeliveries."""

    app: str
    stream: str
    payload: bytes
    headers: Mapping[str, str]
    id: str
    acknowledge: Callable[[], Awaitable[None]]


class Ingress(Protocol):
    """Durable front door for bus clients: what is published to ingress.<app>.<stream> is kept until
    it is acknowledged."""

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Durable when it returns (client side)."""

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        """Messages nobody has acknowledged, shared among all receivers; redelivered later."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A message of a mailbox. `id`: stable across redeliveries, or given by its sender; None: it
    has none, and comes once. `acknowledge` when it need not come again. `refused`: why it cannot be
    taken."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]
    id: str | None
    acknowledge: Callable[[], Awaitable[None]]
    refused: str = ""


class Mailbox(Protocol):
    """Messages of a subject, shared among all who have opened the mailbox of that name."""

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        """What has come and nobody has acknowledged; waits up to `wait_ms` for the first."""

    async def close(self) -> Sequence[Mail]:
        """Reads no more; what is kept for the name stays, for the others at once. Gives what had
        come for this reader, up to its return, and cannot be given back to the carrier;
        idempotent."""


class Subscription(Protocol):
    """A live subscription to a topic."""

    def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        """(subject, payload) pairs; ends when closed."""

    async def close(self) -> None:
        """Stops it; idempotent."""


class Topics(Protocol):
    """Fire-and-forget publish/subscribe and request/reply, for dashboards and control. What fails
    to subscribe or to respond leaves nothing behind: nobody could close it."""

    @property
    def max_answer_bytes(self) -> int:
        """A longer answer to a request does not arrive: who answers says so in a short one."""

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """At most once."""

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """True: a stream of the carrier keeps the subject and has acknowledged the message, once
        per id in ID_HEADER within the stream's window. False: none keeps it, and it was sent at
        most once, as by `publish`. RecordTooLargeError; UnavailableError when unacknowledged."""

    async def subscribe(self, pattern: str) -> Subscription:
        """`pattern` may hold NATS wildcards (`*`, `>`). What is published after this has returned
        comes."""

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        """One answer from one responder; UnavailableError when nobody answers in time."""

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        """Answers requests, from its return on, until closed: what is asked after `close` has
        returned is for others."""


class Bus(Protocol):
    """A connected carrier: the factory of everything above. Open logs are created when missing,
    unless that is not wanted."""

    async def input_log(self, name: LogName, *, make: bool = True) -> InputLog:
        """The input log in.<app>.<group>.<partition>[.<since>]. `make=False`: LogGoneError when it
        is not there. Whoever tells somebody that an event is kept must not bring back a log that
        was removed because nobody reads it any more."""

    async def output_log(self, name: LogName, *, make: bool = True) -> OutputLog:
        """The output log out.<app>.<group>.<partition>[.<since>]. `make=False`: LogGoneError when
        it is not there."""

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        """The logs there are of an app (None: of all), in order; of a name one of the two logs may
        be missing, but where only `inputs` are asked for. One question, however many there are. A
        server that is cut off from the others may leave out what was made lately: whether one
        log is there says `output_log`, and nobody else."""

    async def remove_logs(self, name: LogName) -> None:
        """Deletes both logs; idempotent."""

    @property
    def dead_letters(self) -> DeadLetters:
        """Dead letters of all apps."""

    @property
    def ingress(self) -> Ingress:
        """The bus clients' front door."""

    async def mailbox(self, pattern: str, name: str) -> Mailbox:
        """Messages of a subject (it may hold `*` and `>`), from its return on; of a name seen
        before, from where its readers stopped. Where a stream of the carrier keeps all of the
        subject, a message comes until it is acknowledged; else at most once, to whoever is
        there."""

    @property
    def topics(self) -> Topics:
        """Live topics and control requests."""

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """The id of the suite whose bus this is: `suite` where it is nobody's yet, or
        `instead_of`'s, who is gone. It stands beside the logs, for as long as they do."""

    async def healthy(self) -> bool:
        """True when the carrier answers now."""

    async def close(self) -> None:
        """Flushes and disconnects; idempotent."""
