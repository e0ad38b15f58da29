"""ReferenceExecutor: folds log entries through the engine, one event at a time
(execute.contract).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.events import InputRecord, LogEntry, Position, TickRecord, WriteRecord
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns
from lockstep.execute.contract import QueryWork, SliceResult, WriteOutcome
from lockstep.execute.observe import Observation, Observe
from lockstep.execute.reference import on_demand, persistence
from lockstep.execute.reference.assembly import open_engine
from lockstep.execute.reference.deduplication import SeenIds
from lockstep.execute.reference.inputs import Inputs
from lockstep.execute.reference.observer import Observer
from lockstep.execute.reference.outputs import Outputs
from lockstep.execute.reference.writes import AppliedWrites
from lockstep.execute.undoing import Poisoned, fold_undoing
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.operators.limits import LimitError, deepen_recursion
from lockstep.plan import AppPlan
from lockstep.siddhiql import check_on_demand

DEDUP_IDS_MAX = 100_000
KEPT_MIN: Final = 50_000
BYTES_PER_ENTRY: Final = 500
"""What folding an entry again costs, beside what restoring a snapshot does."""

Entry = LogEntry | EncodedEntry


class ReferenceExecutor:
    """An app in execution in this process. See execute.contract.Executor.

    `start_ms`: the wall time at which the app starts; None takes the clock of the first entry.
    `dedup_ids_max`: how many of the latest event ids are remembered to drop repeated events.
    `observe`: what is kept for `take_observations`.
    `undoes`: what goes over a limit is undone here, from a snapshot and what was folded since; else
    `run_encoded` raises Poisoned, and the owner keeps what that takes.
    """

    def __init__(
        self,
        plan: AppPlan,
        *,
        start_ms: int | None = None,
        dedup_ids_max: int = DEDUP_IDS_MAX,
        observe: Observe = Observe.NOTHING,
        undoes: bool = True,
    ) -> None:
        deepen_recursion()
        self.plan = plan
        self._past = _Past(self) if undoes else None
        self._start_ms = start_ms
        self._dedup_ids_max = dedup_ids_max
        self._observe = observe
        self._renew()

    def _renew(self) -> None:
        self._is_fresh = True
        self._position: Position = 0
        self._started = False
        self._seen = SeenIds(self._dedup_ids_max)
        self._writes = AppliedWrites(self._dedup_ids_max)
        self._outcomes: list[WriteOutcome] = []
        self._outputs = Outputs()
        self.engine = open_engine(self.plan, on_fault=self._outputs.fault)
        self._outputs.listen(self.engine)
        self._inputs = Inputs(self.engine, self._outputs, self._seen)
        self.observer = Observer(self.engine, self._observe) if self._observe else None

    # --- the contract --------------------------------------------------------------------------

    @property
    def position(self) -> Position:
        return self._position

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        return _taken(self, self._past, entries)

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Decodes and folds entries. Poisoned, unless it undoes that itself."""
        return _taken(self, self._past, entries)

    def run_once(self, entries: Sequence[Entry]) -> SliceResult:
        """Folds entries, and undoes nothing. Poisoned: then this executor is spoilt."""
        self._is_fresh = False
        for entry in entries:
            if entry.position <= self._position:
                raise ValueError(f"position {entry.position} is not behind {self._position}")
            self._position = entry.position
            self._outputs.begin(entry.position)
            self._inputs.chunk = None
            record = entry.record() if isinstance(entry, EncodedEntry) else entry.record
            try:
                self._fold(record)
            except LimitError as error:
                raise Poisoned(entry.position, self._inputs.chunk, str(error)) from error
        rows, faults = self._outputs.take()
        columns = rows.columns if isinstance(rows, RowsOfColumns) else ()
        writes, self._outcomes = tuple(self._outcomes), []
        due_ms = self.engine.next_due_ms()
        return SliceResult(
            self._position, rows, faults, due_ms, columns, writes, clock_ms=self.engine.now
        )

    def _fold(self, record: InputRecord | Bundle) -> None:
        if not self._started:
            self._started = True
            self.engine.start(record.clock_ms if self._start_ms is None else self._start_ms)
        if isinstance(record, Bundle):
            self._inputs.fold_bundle(record)
            if record.write is not None:
                self._write(record.write)
            return
        self.engine.move_wall(record.clock_ms)
        if isinstance(record, TickRecord):
            return
        if isinstance(record, WriteRecord):
            self._write(record)
            return
        self._inputs.fold(record)

    def _write(self, record: WriteRecord) -> None:
        self.engine.meter.next(1)
        self._outcomes.append(self._writes.take(record, self._position, self.engine))

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        return on_demand.read(check_on_demand(text, self.plan.checked), self.engine)

    def snapshot(self) -> bytes:
        pieces = state.Pieces()
        self.write_snapshot(pieces)
        return pieces.joined()

    def write_snapshot(self, sink: state.Sink) -> None:
        """The same, piece by piece."""
        body = {
            "started": self._started,
            "seen": self._seen.snapshot(),
            "writes": self._writes.snapshot(),
            "engine": persistence.take(self.engine),
        }
        state.seal_into(sink, self._position, body)

    def restore(self, snapshot: state.Bytes) -> None:
        self.load(snapshot)
        if self._past is not None:
            self._past.begin(snapshot)

    def load(self, snapshot: state.Bytes | None) -> None:
        """Takes over a snapshot (None: begins anew), of which the past knows already."""
        if snapshot is None:
            self._renew()
            return
        position, body = state.unseal(snapshot)
        if not isinstance(body, dict) or not {"started", "seen", "engine"} <= body.keys():
            raise SnapshotError("the snapshot holds no executor's state")
        if not self._is_fresh:
            self._renew()
        self._is_fresh = False
        persistence.put_back(self.engine, body["engine"])
        self._seen.restore(body["seen"])
        # Revisions of the first release know no writes.
        self._writes.restore(body.get("writes", []))
        self._started = body["started"]
        self._position = position

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Switches playback while the app runs, for tests: in a cluster the app's text decides."""
        self._is_fresh = False
        self.engine.playback.switch(on, idle_ms, increment_ms)
        if self._past is not None:
            self._past.mark()  # no entry of a log tells of the switch

    def close(self) -> None:
        """Nothing to give back."""

    def take_work(self) -> QueryWork:
        """Rows alone: operators of several queries work hand in hand."""
        taken = {name: (rows, 0) for name, rows in self.engine.query_rows.items()}
        self.engine.query_rows.clear()
        return taken

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call, in order; empty unless `observe` was asked for."""
        taken = _observed(self)
        if self._past is not None:
            taken, self._past.observed = self._past.observed + taken, []
        return taken


class _Past:
    """A snapshot (None: the beginning) and what was folded since, to go back to (FoldsBack)."""

    def __init__(self, executor: ReferenceExecutor) -> None:
        self._executor = executor
        self._snapshot: state.Bytes | None = None
        self._entries: list[Entry] = []
        self.observed: list[Observation] = []

    def fold(self, entries: Sequence[Entry]) -> SliceResult:
        """Folds entries and keeps them. Poisoned."""
        result = self._executor.run_once(entries)
        self._entries += entries
        self.observed += _observed(self._executor)
        return result

    def go_back(self) -> None:
        """See FoldsBack."""
        self._executor.load(self._snapshot)
        self._executor.run_once(self._entries)
        _observed(self._executor)

    def mark(self) -> None:
        """See FoldsBack."""
        self.begin(self._executor.snapshot())

    def begin(self, snapshot: state.Bytes) -> None:
        """From here on the state is that of a snapshot."""
        self._snapshot, self._entries = snapshot, []

    def shorten(self) -> None:
        """Where a new snapshot is cheaper to go back to it takes one: O(1) for each entry."""
        held = 0 if self._snapshot is None else len(self._snapshot)
        if len(self._entries) > max(KEPT_MIN, 2 * held // BYTES_PER_ENTRY):
            self.mark()


def _taken(
    executor: ReferenceExecutor, past: _Past | None, entries: Sequence[Entry]
) -> SliceResult:
    """The slice folded, with what goes over a limit undone where there is a past to go back to."""
    if past is None:
        return executor.run_once(entries)
    result = fold_undoing(past, entries)
    past.shorten()
    return result


def _observed(executor: ReferenceExecutor) -> list[Observation]:
    return [] if executor.observer is None else executor.observer.take()
