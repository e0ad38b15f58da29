"""ColumnarExecutor: folds slices in columns, query by query, each for the whole slice at once;
queries without a columnar form run on the reference's operators in their midst.

Exactly the reference's outputs with the reference's identities: the chunks of all streams carry
their place in the reference's depth-first run, and exported rows are numbered in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from lockstep.columns.column import Suspected, Unfit
from lockstep.columns.moves import Clock
from lockstep.columns.pool import StringPool
from lockstep.columns.shards import Shard
from lockstep.events import LogEntry, Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns
from lockstep.execute.columnar.convert import (
    EngineState,
    asked_by,
    fresh_states,
    from_reference,
    to_reference,
)
from lockstep.execute.columnar.folding import Exported, Folding
from lockstep.execute.columnar.foretelling import brings_any
from lockstep.execute.columnar.lowering import Lowering, lower
from lockstep.execute.columnar.observing import Observer
from lockstep.execute.columnar.rounds import GoesOn
from lockstep.execute.columnar.sharding import NotSharded, roles_of
from lockstep.execute.columnar.slices import read_slice
from lockstep.execute.contract import QueryWork, SliceResult
from lockstep.execute.encoding import encoded
from lockstep.execute.following import joined_results
from lockstep.execute.made import EntriesTogether
from lockstep.execute.observe import Observation, Observe
from lockstep.execute.reference.deduplication import SeenIds
from lockstep.execute.reference.executor import DEDUP_IDS_MAX, ReferenceExecutor
from lockstep.execute.reference.writes import AppliedWrites
from lockstep.execute.together import Together
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.operators.limits import LimitError
from lockstep.plan import AppPlan
from lockstep.siddhiql import check_on_demand
from lockstep.telemetry import get_logger

_log = get_logger(part="columns")


class NotColumnar(Exception):
    """The app has no columnar form; the message says why."""


def lowering_of(plan: AppPlan) -> Lowering:
    """What becomes of each query of a plan."""
    return lower(plan, StringPool(), fresh_states(plan))


def _positions_of(entries: Sequence[EncodedEntry] | Together) -> list[Position]:
    if isinstance(entries, Together):
        positions: list[Position] = entries.positions.tolist()
        return positions
    return [entry.position for entry in entries]


def _first_ms(entries: Sequence[EncodedEntry] | Together) -> int:
    if isinstance(entries, Together):
        return int(entries.clocks_ms[0])
    return entries[0].header.clock_ms


class ColumnarExecutor:
    """An app of which at least one query runs in columns. See execute.contract.Executor.

    Raises NotColumnar when none does. `run_encoded` raises Unfit when a slice
    brings values that have none: then this executor is spoilt, and the owner folds on from the last
    snapshot with the reference. `shard`: this executor has the partition instances of one share of
    the keys, and `exported` is what the last call of `run_encoded` brought (sharding.NotSharded).
    """

    def __init__(
        self,
        plan: AppPlan,
        *,
        start_ms: int | None = None,
        dedup_ids_max: int = DEDUP_IDS_MAX,
        observe: Observe = Observe.NOTHING,
        shard: Shard | None = None,
    ) -> None:
        self.plan = plan
        self._shard = shard
        self._start_ms = start_ms
        self._dedup_ids_max = dedup_ids_max
        self._defaults = fresh_states(plan)
        self._observe = observe
        self._observer = Observer(plan, observe) if observe else None
        self._plain: frozenset[str] = frozenset()
        self._rounds = True
        self._renew()

    def _renew(self) -> None:
        self._pool = StringPool()
        self.lowering: Lowering = lower(
            self.plan, self._pool, self._defaults,
            observe=self._observe, plain=self._plain, rounds=self._rounds,
        )  # fmt: skip
        if not self.lowering.is_columnar:
            raise NotColumnar("; ".join(self.lowering.reasons))
        self._folding = self._cut()
        self.take_work: Callable[[], QueryWork] = self._folding.work.take
        self.exported: list[Exported] = []
        self._clock = Clock(is_playback=self.plan.checked.is_playback)
        self._seen = SeenIds(self._dedup_ids_max)
        self._writes = AppliedWrites(self._dedup_ids_max)
        self._started = False
        self._position: Position = 0
        self._is_fresh = True

    def _cut(self) -> Folding:
        """What this shard runs of the app."""
        parts = self.lowering.units
        if self._shard is None:
            return Folding(self.plan, parts, self._observer)
        own, shared = roles_of(parts).of(self._shard)
        return Folding(self.plan, own, self._observer, shared)

    @property
    def splits(self) -> bool:
        """Whether the app can be cut into shards."""
        try:
            roles_of(self.lowering.units)
        except NotSharded:
            return False
        return self._observer is None

    @property
    def position(self) -> Position:
        return self._position

    @property
    def state_rows(self) -> int:
        """See CountsRows: what columns hold; a part on the reference's operators counts nothing."""
        return self._pool.rows

    # --- folding ---------------------------------------------------------------------------------

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Encodes and folds entries."""
        return self.run_encoded(encoded(entries, self.plan.checked.streams))

    def run_encoded(self, entries: Sequence[EncodedEntry] | Together) -> SliceResult:
        """Folds entries, which may be read already; writes between them by the reference."""
        self._is_fresh = False
        if isinstance(entries, EntriesTogether):
            entries = entries.records
        if isinstance(entries, Together) or not any(entry.is_write for entry in entries):
            return self._run(entries)
        parts = groupby(entries, key=lambda entry: entry.is_write)
        runs = [(writes, list(part)) for writes, part in parts]
        return joined_results([self._written(p) if writes else self._run(p) for writes, p in runs])

    def _written(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """On-demand writes are rare and touch few rows: the reference applies them."""
        self.exported = []
        reference = self._as_reference(to_reference)
        result = reference.run_encoded(entries)
        if self._observer is not None:
            self._observer.add_all(reference.take_observations())
        self.restore(reference.snapshot())
        return result

    def _run(self, entries: Sequence[EncodedEntry] | Together) -> SliceResult:
        """Unfit, and Suspected where an event may go over a limit."""
        if not entries:
            return SliceResult(self._position, (), (), self._due_ms(), clock_ms=self._clock.now)
        if brings_any(entries, self.lowering.closed):
            # What hung on nobody's sending there goes on without. Shares do not see each other's.
            if self._shard is not None:
                raise Unfit("events of a stream that was taken for closed")
            _log.warning(
                "events were sent to a stream between a query that reads a table and one that "
                "writes it; these queries run one event at a time from now on",
                app=self.plan.name, streams=sorted(self.lowering.closed),
            )  # fmt: skip
            self._plain = frozenset(self.plan.checked.tables)
            self.restore(self.snapshot())
        for position in _positions_of(entries):
            if position <= self._position:
                raise ValueError(f"position {position} is not behind {self._position}")
            self._position = position
        if not self._started:
            self._start(_first_ms(entries))
        found = read_slice(entries, self._clock, self.plan.checked.streams, self._seen)
        try:
            self.exported = self._folding.run(found)
        except GoesOn:
            # Once restored, this executor has circles on the reference: it may happen often.
            self._rounds = False
            raise
        except LimitError as error:
            raise Suspected(str(error)) from error
        columns = [each.columns for each in self.exported]
        self._folding.settle(self._pool)
        return SliceResult(
            self._position,
            RowsOfColumns(columns),
            (),
            self._due_ms(),
            tuple(columns),
            clock_ms=self._clock.now,
        )

    def _due_ms(self) -> int | None:
        return self._folding.due_ms(is_playback=self._clock.is_playback)

    def _start(self, first_ms: int) -> None:
        self._started = True
        clock_ms = first_ms if self._start_ms is None else self._start_ms
        self._clock.wall = max(self._clock.wall, clock_ms)
        if not self._clock.is_playback:
            self._clock.now = self._clock.wall
        self._folding.start(clock_ms)

    # --- state -----------------------------------------------------------------------------------

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Reads the state as the reference has it; see the contract."""
        question = check_on_demand(text, self.plan.checked)
        return self._as_reference(asked_by(question)).on_demand(text)

    def _as_reference(self, engine: EngineState) -> ReferenceExecutor:
        reference = ReferenceExecutor(
            self.plan,
            start_ms=self._start_ms,
            dedup_ids_max=self._dedup_ids_max,
            observe=self._observe,
            undoes=False,
        )
        pieces = state.Pieces()
        self.write_snapshot(pieces, engine)
        reference.restore(pieces.joined())
        return reference

    def snapshot(self) -> bytes:
        """The state at `position`, in the reference's form."""
        pieces = state.Pieces()
        self.write_snapshot(pieces)
        return pieces.joined()

    def write_snapshot(self, sink: state.Sink, engine: EngineState = to_reference) -> None:
        """The same, piece by piece; or that part of it which `engine` gives."""
        self._is_fresh = False
        body = {
            "started": self._started,
            "seen": self._seen.snapshot(),
            "writes": self._writes.snapshot(),
            "engine": engine(self.lowering.units, self._clock, self._defaults),
        }
        state.seal_into(sink, self._position, body)

    def restore(self, snapshot: state.Bytes) -> None:
        position, body = state.unseal(snapshot, keep_packed=True)
        if not isinstance(body, dict) or not {"started", "seen", "engine"} <= body.keys():
            raise SnapshotError("the snapshot holds no executor's state")
        if not self._is_fresh:
            self._renew()
        self._is_fresh = False
        from_reference(self.lowering.units, self._clock, body["engine"])
        self._seen.restore(body["seen"])
        self._writes.restore(body.get("writes", []))
        self._started = body["started"]
        self._position = position

    def close(self) -> None:
        """Nothing to give back."""

    def take_observations(self) -> list[Observation]:
        return [] if self._observer is None else self._observer.take()
