"""What stands in the logs: event batches, writes and ticks (input), rows and claims (output).

Positions are the carrier's sequence numbers, counted from 1. A record has one position however many
events and chunks it holds; chunks are what one send call brought (semantics 1) and are never cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import msgspec

from lockstep.events.event import Value

Position = int
"""Sequence number of a record in its input log; 0 means before the first."""


class InputEvent(msgspec.Struct, frozen=True, gc=False):
    """One event on its way in: its own timestamp, its values, and the client's event id if any."""

    timestamp_ms: int
    data: tuple[Value, ...]
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventsRecord:
    """Events of one stream, appended by a receiver in one go.

    `clock_ms` is the receiver's clock at the append: it moves the live clock. `chunks` keeps what
    each send call brought together. In a playback app the events' own timestamps move the clock.
    `has_timestamps` false means that the senders gave none and `clock_ms` was filled in.
    """

    stream: str
    clock_ms: int
    chunks: tuple[tuple[InputEvent, ...], ...]
    has_timestamps: bool = False


@dataclass(frozen=True, slots=True)
class TickRecord:
    """Time passed and nothing happened: timers due up to `clock_ms` fire (design invariant 1).

    `layout`: behind this record the units of that layout of the app go on, and those of earlier
    ones end; 0: they go on as they are.
    """

    clock_ms: int
    layout: int = 0


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """An on-demand query that changes a table (SiddhiQL text), asked for by a client.

    It stands in the log like events do, so every replica applies it at the same position. A
    `request_id` that was applied before changes nothing: asking again is harmless (invariant 6).
    """

    text: str
    request_id: str
    clock_ms: int


InputRecord = EventsRecord | TickRecord | WriteRecord


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An input record at its position."""

    position: Position
    record: InputRecord


class Operation(IntEnum):
    """What an output row does at its destination."""

    EVENT = 0
    UPSERT = 1
    DELETE = 2


class OutputId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Identity of an output inside its (app, group, partition): design invariant 3."""

    position: Position
    ordinal: int


class OutputRow(msgspec.Struct, frozen=True, gc=False):
    """One row for the output log: an event of an exported stream or a change of a stored table."""

    id: OutputId
    stream: str
    timestamp_ms: int
    data: tuple[Value, ...]
    operation: Operation = Operation.EVENT


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """Rows in ascending identity, appended to the output log in one go by the permit's holder.

    On the hot path `rows` are columns (`lockstep.events.outputs.RowsOfColumns`).
    `door_ms`: when the door took the oldest event that they come from; 0: not told. `trace`: of
    which trace the append is a part, as W3C's traceparent has it; empty: of none. `settled`: the
    log has all rows of positions up to there with this record; 0: not told.
    """

    epoch: int
    rows: Sequence[OutputRow]
    door_ms: int = 0
    trace: str = ""
    settled: Position = 0


@dataclass(frozen=True, slots=True, order=True)
class Life:
    """Which of an app's lives: when the app was deployed, and the number of the desired state; an
    upgrade or a restore makes a next one. Ordered by what was wanted later.
    """

    deployed_ms: int
    number: int

    @property
    def next(self) -> Life:
        """Of the same app."""
        return Life(self.deployed_ms, self.number + 1)


@dataclass(frozen=True, slots=True, order=True)
class Generation:
    """Which state of an app published: in which life, and behind which input position it began.

    Of one life the output log takes one beginning alone.
    """

    life: Life
    position: Position

    def follows(self, other: Generation) -> bool:
        """It was wanted later."""
        return self.life > other.life


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A new leader's first append: nobody with a lower epoch may append after it (invariant 4).

    `generation` is of its state: nobody with an earlier one may claim after it. A leader whose
    state changes claims again, with its epoch. None: a release wrote it that knew of none.
    """

    epoch: int
    holder: str
    clock_ms: int
    generation: Generation | None = None


OutputLogRecord = OutputRecord | ClaimRecord
