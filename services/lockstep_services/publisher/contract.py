"""What a sink is: it takes batches of rows in log order and remembers how far it came.

Delivery is exactly once where the destination can keep the cursor (database, file), at least once
with a stable id on every message elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lockstep.bus import LogName
from lockstep.events import Event, Fault, LockstepError, OutputRow, StreamSchema
from lockstep.events.since import with_since
from lockstep.sinks.objects import Gathering
from lockstep.store import cursor_name


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows that this sink wants of the output log's records up to `up_to`, in order.

    `door_ms`: when the door took the oldest event that they come from; 0: not known. `traces`: of
    which they are a part.
    """

    up_to: int
    rows: Sequence[OutputRow]
    door_ms: int = 0
    traces: tuple[str, ...] = ()


class OnError(StrEnum):
    """What a sink's `on.error` wants for rows that it does not take: told in the log and dropped,
    to the fault stream, to the error store; `WAIT` tries for as long as it takes.
    """

    LOG = "LOG"
    STREAM = "STREAM"
    STORE = "STORE"
    WAIT = "WAIT"


@dataclass(frozen=True, slots=True)
class SinkBinding:
    """Which app and stream (or table) a sink serves, and its name, stable for equal app texts.

    `since_ms`: when the app's logs began; 0 for the oldest ones.
    """

    app: str
    schema: StreamSchema
    name: str
    since_ms: int = 0
    on_error: OnError = OnError.STORE

    @property
    def key(self) -> str:
        """Its name among the sinks of all apps and logs: how far it came is kept under it."""
        return cursor_name(self.app, self.name, self.since_ms)

    @property
    def log(self) -> LogName:
        """The app's logs."""
        return LogName(self.app, since_ms=self.since_ms)

    def row_id(self, row: OutputRow) -> str:
        """The stable id of a message: the output's identity, worldwide and for good. Logs that
        began later count from 1 again."""
        app = with_since(self.app, self.since_ms)
        return f"{app}/main/0/{row.id.position}.{row.id.ordinal}"


def event_of(row: OutputRow) -> Event:
    """The row as the event that it was."""
    return Event(row.timestamp_ms, row.data)


class Sink(Protocol):
    """An open or closed destination. Errors: UnavailableError (try again), RowsRefusedError."""

    @property
    def binding(self) -> SinkBinding:
        """What it serves."""

    @property
    def waits_for_ever(self) -> bool:
        """True when giving up is impossible, since the cursor lives in the destination itself."""

    @property
    def takes_again(self) -> bool:
        """Rows out of the error store can come between others; else they are part of an order."""

    @property
    def at_once(self) -> int | None:
        """How many rows are under way at a time, when a batch that is cut short is sent again from
        its beginning; None: batches arrive whole, or are known row by row.
        """

    @property
    def gathering(self) -> Gathering | None:
        """When enough rows wait for a batch; None: as soon as there is one."""

    async def open(self) -> int:
        """Takes the destination over; gives the sequence of the last delivered record."""

    async def deliver(self, batch: Batch) -> None:
        """Delivers all rows and moves the cursor to `up_to`; FencedError when somebody else did."""

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        """The rows of a batch begun that have not arrived wherever they shall."""

    async def begin_again(self) -> None:
        """The output log was removed and begun anew, and so do identities."""

    async def close(self) -> None:
        """Gives connections back; idempotent."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that the destination refuses for what it holds. `names`: those of its values, where
    they are not the stream's, as it was published before an upgrade."""

    row: OutputRow
    reason: str
    names: tuple[str, ...] | None = None


class RowsRefusedError(LockstepError):
    """The destination refuses rows for what they hold; trying again does not help.

    Nothing of the batch counts as delivered; without these rows it may be.
    """

    fault = Fault.USER

    def __init__(self, refused: Sequence[RefusedRow], *, where: str) -> None:
        super().__init__(f"{len(refused)} rows refused: {refused[0].reason}", where=where)
        self.refused = tuple(refused)


class SinkSetupError(LockstepError):
    """A sink whose annotation cannot work: unknown type, missing option."""

    fault = Fault.USER
