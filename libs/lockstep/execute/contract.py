"""The one contract of the executors: fold slices of the input log through an app (design
invariant 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from lockstep.events import Event, LogEntry, OutputRow, Position, UnavailableError

if TYPE_CHECKING:  # whoever works without columns does without Arrow
    from lockstep.events.codec import EncodedEntry
    from lockstep.events.outputs import OutputColumns


@dataclass(frozen=True, slots=True)
class EventFault:
    """Events that a query could not process: they become dead letters (semantics 18)."""

    position: Position
    stream: str
    events: tuple[Event, ...]
    query: str | None
    reason: str
    is_poison: bool = False
    """It went over a limit, and all that it did was undone."""


class WriteProblem(msgspec.Struct, array_like=True, frozen=True):
    """Why a write could not be applied, with its place in the text where it has one."""

    message: str
    hint: str | None = None
    line: int | None = None
    column: int | None = None


class WriteOutcome(msgspec.Struct, array_like=True, frozen=True):
    """What came of a write: at which position it was applied, and how many rows it changed."""

    position: Position
    request_id: str
    rows_changed: int
    problem: WriteProblem | None = None


@dataclass(frozen=True, slots=True)
class SliceResult:
    """What one slice brought.

    rows: outputs of exported streams and stored tables, in ascending identity. faults: events that
    became dead letters. next_due_ms: wall time at which a tick is due if no event comes, or None.
    position: the last position folded. columns: the same rows by stream, where the executor worked
    in columns; then `rows` are made when they are first looked at. writes: one outcome per
    WriteRecord; that of a request applied before is its first one. `stopped` says why the app
    cannot go on behind `position`, though there are more entries: a timer goes over a limit.
    `unfoldable`: the next position, which ends whatever folds it; the owner decides about it.
    `clock_ms`: the app's clock behind it.
    """

    position: Position
    rows: Sequence[OutputRow]
    faults: tuple[EventFault, ...]
    next_due_ms: int | None
    columns: tuple[OutputColumns, ...] = ()
    writes: tuple[WriteOutcome, ...] = ()
    stopped: str | None = None
    unfoldable: Position | None = None
    clock_ms: int | None = None

    @property
    def has_rest(self) -> bool:
        """There are more entries, and they were not folded."""
        return self.stopped is not None or self.unfoldable is not None


class StateLostError(UnavailableError):
    """The state was where it is no more, and what the executor keeps does not suffice to build it
    again: its owner has to begin again from a snapshot and the log."""


class Executor(Protocol):
    """An app in execution. Calls are serialised by the owner; all are blocking.

    Folding is a pure function of (state, entries): cutting the log differently, restoring a
    snapshot and replaying, or changing the executor gives the same rows with the same identities.
    """

    @property
    def position(self) -> Position:
        """The last folded position (0 at the start)."""

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Folds entries (positions ascending, all behind `position`) through the app."""

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """The same for entries that nobody has decoded yet: the quick way. CodecError."""

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Reads the state at `position` with an on-demand query and changes nothing.

        Raises SiddhiQLError, also for a query that writes (those are WriteRecords of the log), and
        EventError for values that do not fit.
        """

    def snapshot(self) -> bytes:
        """The state at `position`: versioned, self-describing, no pickle; restorable elsewhere."""

    def restore(self, snapshot: bytes | memoryview) -> None:
        """Takes over a snapshot of the same app; raises SnapshotError when it does not fit."""

    def close(self) -> None:
        """Gives resources back; idempotent."""


@runtime_checkable
class CountsRows(Protocol):
    """An executor that knows how much it holds."""

    @property
    def state_rows(self) -> int:
        """Rows in windows, joins, patterns and tables, as far as they are counted."""


QueryWork = Mapping[str, tuple[int, int]]
"""By query: the rows that it gave, and the microseconds that it took, as far as they are measured.
Queries that are folded together share a name."""


@runtime_checkable
class TellsWork(Protocol):
    """An executor that says what its queries did."""

    def take_work(self) -> QueryWork:
        """Since the last call; part of no state."""


@runtime_checkable
class TakesBases(Protocol):
    """An executor whose state may be lost from under it, and that can rebuild it from less of the
    log when its owner has a newer snapshot."""

    @property
    def base_bytes(self) -> int:
        """What it keeps to rebuild its state from: a snapshot and the entries folded since."""

    def rebase(self, snapshot: bytes | memoryview) -> None:
        """A snapshot of the state that this executor has been through, to rebuild from."""


@runtime_checkable
class LooksAhead(Protocol):
    """An executor that gets ready for what comes next while it folds."""

    def expect(self, entries: Sequence[EncodedEntry]) -> None:
        """What follows the next slice, unless something else comes: whatever can be done for it is
        done while that slice is folded. It changes no result, and does not wait for anything."""


@runtime_checkable
class LivesElsewhere(Protocol):
    """An executor whose state is in a process that others may end when nothing is asked of it."""

    def is_forgotten(self) -> bool:
        """Whether nothing has been asked there since this was called last: `touch` is due. Does not
        wait for anything."""

    def touch(self) -> None:
        """Asks something small of where the state is, and changes nothing."""
