"""SparkExecutor: folds slices of the input log in Spark workers, one request per slice.

The driver keeps what is needed to build the state anywhere: the last snapshot and the entries
folded since, bounded by bytes. A lost worker, a lost Spark executor, a moved task or a task run
twice is therefore harmless: a worker that does not hold the state at the asked position says so
and gets the base.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from lockstep.events import LogEntry, Position
from lockstep.events.codec import EncodedEntry
from lockstep.execute.contract import QueryWork, SliceResult
from lockstep.execute.encoding import encoded
from lockstep.execute.following import joined_results
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.made import EntriesTogether
from lockstep.execute.observe import Observation, Observe
from lockstep.execute.reference.executor import DEDUP_IDS_MAX
from lockstep.execute.spark import wire
from lockstep.execute.spark.asking import Rebuilt, Workers
from lockstep.execute.spark.location import Location
from lockstep.execute.spark.rebuilding import Base
from lockstep.execute.spark.session import SparkOptions, SparkSlices, open_slices
from lockstep.execute.spark.settling import Settling
from lockstep.execute.spark.slots import Use
from lockstep.functions.geo import addresses
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.operators.limits import limits
from lockstep.plan import AppPlan

REPLAY_MIN_BYTES = 128 * 1024 * 1024
"""See Base: what is replayed at most for a small state."""


def _no_matter(*_: object) -> None:
    """Nobody wants to know."""


class SparkExecutor:
    """An app whose operators run in Spark's Python workers. See execute.contract.Executor.

    The worker is started and the app built in it when the executor is made, so that the first slice
    is not slower than others; `rehearsed`, made-up events have gone through a copy there as well.
    `columnar` false keeps the app on the reference operators.
    `shards`: into how many parts, each in a task of its own, an app is cut that keeps its state by
    partition key (columnar.sharding); others stay whole.
    `on_rebuilt` hears of every state that had to be built again, on the thread of the call that
    found it missing; `on_unfit` of values that have no columnar form, before that.
    `base_max_bytes`: the owner keeps snapshots and the log, and this executor no more than that to
    rebuild from. A lost state that is larger is a StateLostError of whatever was asked; without a
    limit the executor snapshots as often as it needs to, which stops a large state for seconds.
    `on_suspected` and `careful`: see Settling. `memory_max_bytes`: what a worker may take (0: what
    the system gives); what is shared with this process does not count.
    `tasks_max`: in how many tasks at a time an app of this name runs in this process, all of its
    executors together (see Slots); None: in as many as there are.
    """

    def __init__(
        self,
        plan: AppPlan,
        *,
        start_ms: int | None = None,
        dedup_ids_max: int = DEDUP_IDS_MAX,
        observe: Observe = Observe.NOTHING,
        columnar: bool = True,
        rehearsed: bool = False,
        shards: int = 1,
        options: SparkOptions | None = None,
        slices: SparkSlices | None = None,
        replay_min_bytes: int = REPLAY_MIN_BYTES,
        base_max_bytes: int | None = None,
        on_rebuilt: Callable[[Rebuilt], None] = _no_matter,
        on_unfit: Callable[[], None] = _no_matter,
        on_suspected: Callable[[Position, Position], None] = _no_matter,
        careful: tuple[Position, Position] | None = None,
        memory_max_bytes: int = 0,
        tasks_max: int | None = None,
    ) -> None:
        self._schemas = plan.checked.streams
        app = wire.App(
            plan.text,
            start_ms,
            dedup_ids_max,
            observe,
            columnar,
            rehearsed,
            limits(),
            memory_max_bytes,
            addresses.folder(),
        )
        self._workers = Workers(
            app,
            self._schemas,
            slices if slices is not None else open_slices(options or SparkOptions()),
            Base(
                replay_min_bytes if base_max_bytes is None else base_max_bytes,
                has_owner=base_max_bytes is not None,
            ),
            on_rebuilt,
            on_unfit,
            Use(plan.name, tasks_max),
        )
        self._settling = Settling(
            self._workers, on_suspected, careful, has_owner=base_max_bytes is not None
        )
        try:
            self._workers.open(shards)
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> Position:
        return self._workers.position

    @property
    def locations(self) -> tuple[Location, ...]:
        """Where the state was when last asked, shard by shard; empty once closed."""
        return tuple(shard.location for shard in self._workers.shards if shard.location is not None)

    @property
    def rebuilds(self) -> int:
        """How often a state had to be built again because it was not where it had been."""
        return self._workers.rebuilds

    @property
    def state_rows(self) -> int:
        return sum(shard.state_rows for shard in self._workers.shards)

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Folds entries in one request."""
        return self.run_encoded(encoded(entries, self._schemas))

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds entries in one request; their bytes go to the workers as they are."""
        if len(self._workers.shards) == 1 or isinstance(entries, EntriesTogether):
            return self._fold(entries)
        # A write is no matter of order within a slice: the reference applies it in between.
        runs = [list(run) for _, run in groupby(entries, key=lambda each: each.is_write)]
        results: list[SliceResult] = []
        for run in runs or [[]]:
            results.append(self._fold(run))
            if results[-1].has_rest:
                break
        return results[0] if len(results) == 1 else joined_results(results)

    def expect(self, entries: Sequence[EncodedEntry]) -> None:
        """See LooksAhead: their block is written while the workers fold the next slice."""
        self._workers.coming = entries

    def _fold(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        result = self._settling.run(entries)
        if self._workers.base.is_long:
            self._workers.base.begin(self._snapshots(), result.position)
        return result

    def is_forgotten(self) -> bool:
        return self._workers.are_forgotten()

    def touch(self) -> None:
        """See LivesElsewhere: Spark ends Python workers of which nothing was asked for a minute,
        whatever they hold, and has no setting for that."""
        self._workers.touch()

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Reads the state in the worker; see the contract."""
        # What can be asked for stands outside of partitions, so the first shard has it.
        ((_, parts),) = self._workers.ask("query", text=text, first_only=True)
        rows: list[tuple[Any, ...]] = state.decode(bytes(parts[wire.DATA]))
        return rows

    def snapshot(self) -> bytes:
        """The state in the workers; from here on rebuilding starts with it, if it is small."""
        snapshots, base = self._snapshots(), self._workers.base
        if base.takes(sum(map(len, snapshots))):
            base.begin(snapshots, self.position)
        return joined_snapshots(snapshots)

    @property
    def base_bytes(self) -> int:
        return self._workers.base.size_bytes

    def rebase(self, snapshot: bytes | memoryview) -> None:
        self._workers.base.rebase(snapshot, state.position_of(snapshot))

    def _snapshots(self) -> list[bytes]:
        return [bytes(parts[wire.SNAPSHOT]) for _, parts in self._workers.ask("snapshot")]

    def restore(self, snapshot: bytes | memoryview) -> None:
        """Takes over a snapshot; the position is the snapshot's. Raises SnapshotError."""
        position = state.position_of(snapshot)
        before = self._workers.position, self._workers.base.copy()
        self._workers.incarnation += 1
        self._workers.base.begin([snapshot], position)
        self._workers.position = position
        try:
            self._workers.ask("open")
        except SnapshotError:
            self._workers.position, self._workers.base = before
            self._workers.incarnation += 1
            raise
        self._workers.base.trim()

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Switches playback while the app runs, for tests: in a cluster the app's text decides."""
        # The switch is in no log entry: a state without it is another incarnation.
        ((_, parts),) = self._workers.ask("playback", text=json.dumps([on, idle_ms, increment_ms]))
        self._workers.incarnation += 1
        self._workers.base.begin([bytes(parts[wire.SNAPSHOT])], self.position)

    def take_work(self) -> QueryWork:
        """See TellsWork."""
        taken, self._workers.work = self._workers.work, {}
        return taken

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call; empty unless `observe` was asked for."""
        workers = self._workers
        taken, workers.observations = workers.observations, []
        return taken

    def close(self) -> None:
        """Forgets the state, here at once and in the workers with their next tasks."""
        self._workers.close()
