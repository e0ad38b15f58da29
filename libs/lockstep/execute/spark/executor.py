"""SparkExecutor: folds slices of the input log in Spark workers, one Spark job per slice.

The driver keeps what is needed to build the state anywhere: the last snapshot and the entries
folded since, bounded by bytes. A lost worker, a lost Spark executor, a moved task or a task run
twice is therefore harmless: a worker that does not hold the state at the asked position says so
and gets the base.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from lockstep.events import LogEntry, Position
from lockstep.events.codec import encode_record, is_write
from lockstep.execute.columnar.joined_shards import joined_snapshots
from lockstep.execute.contract import Encoded, SliceResult, joined_results
from lockstep.execute.observe import Observation
from lockstep.execute.reference.executor import DEDUP_IDS_MAX
from lockstep.execute.spark import blocks, wire, worker
from lockstep.execute.spark.location import Location
from lockstep.execute.spark.rebuilding import Base
from lockstep.execute.spark.session import (
    SparkFailedError,
    SparkOptions,
    SparkSlices,
    Task,
    open_slices,
)
from lockstep.operators import state
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.siddhiql import SiddhiQLError, check

REPLAY_MIN_BYTES = 128 * 1024 * 1024
"""See Base: what is replayed at most for a small state."""

ASK_ATTEMPTS = 4
"""How often a request is sent before a job is taken for failed: once as it is, then with the base.
"""


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """See execute.contract.Encoded."""

    position: Position
    payload: bytes


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A state was built again: at `location`, up to `position`, from the last snapshot and
    `entries` of the log. `why`: lost (its worker or Spark executor is gone, or the task moved), or
    what had no columnar form."""

    location: Location
    position: Position
    entries: int
    why: str


LOST = "lost"


@dataclass(slots=True)
class _Shard:
    """The driver's end of a worker that holds the state, or a part of it."""

    index: int
    slot: int
    location: Location | None = None
    sent: blocks.Holder = field(default_factory=blocks.Holder)

    @property
    def preference(self) -> str | None:
        """See Location."""
        return None if self.location is None else self.location.preference


Reply = tuple[wire.Answer, list[memoryview]]
"""An answer and the parts of its block."""

_instances = itertools.count()


def _no_matter(rebuilt: Rebuilt) -> None:
    """Nobody wants to know."""


class SparkExecutor:
    """An app whose operators run in Spark's Python workers. See execute.contract.Executor.

    The worker is started and the app built in it when the executor is made, so that the first slice
    is not slower than others; `rehearsed`, made-up events have gone through a copy there as well.
    `columnar` false keeps the app on the reference operators.
    `shards`: into how many parts, each in a task of its own, an app is cut that keeps its state by
    partition key (columnar.sharding); others stay whole.
    `on_rebuilt` hears of every state that had to be built again, on the thread of the call that
    found it missing.
    """

    def __init__(
        self,
        app_text: str,
        *,
        start_ms: int | None = None,
        dedup_ids_max: int = DEDUP_IDS_MAX,
        observe: bool = False,
        columnar: bool = True,
        rehearsed: bool = False,
        shards: int = 1,
        options: SparkOptions | None = None,
        slices: SparkSlices | None = None,
        replay_min_bytes: int = REPLAY_MIN_BYTES,
        on_rebuilt: Callable[[Rebuilt], None] = _no_matter,
    ) -> None:
        self._schemas = check(app_text).streams
        self._app = wire.App(app_text, start_ms, dedup_ids_max, observe, columnar, rehearsed)
        self._observations: list[Observation] = []
        self._slices = slices if slices is not None else open_slices(options or SparkOptions())
        self._on_rebuilt = on_rebuilt
        self._rebuilds = 0
        self._instance = f"{os.getpid()}-{next(_instances)}"
        self._incarnation = 0
        self._position: Position = 0
        self._base = Base(replay_min_bytes)
        self._shards = [_Shard(0, self._slices.acquire())]
        ((answer, _),) = self._ask("open")
        if answer.splits:
            self._split(min(shards, self._slices.slots))

    def _split(self, shards: int) -> None:
        """From one worker to one for each shard."""
        if shards < 2:
            return
        for index in range(1, shards):
            used = [shard.slot for shard in self._shards]
            self._shards.append(_Shard(index, self._slices.acquire(used)))
        self._incarnation += 1
        self._ask("open")

    @property
    def position(self) -> Position:
        """The last folded position."""
        return self._position

    @property
    def locations(self) -> tuple[Location, ...]:
        """Where the state was when last asked, shard by shard; empty once closed."""
        return tuple(shard.location for shard in self._shards if shard.location is not None)

    @property
    def rebuilds(self) -> int:
        """How often a state had to be built again because it was not where it had been."""
        return self._rebuilds

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Folds entries in one Spark job."""
        return self.run_encoded(
            [EncodedRecord(e.position, encode_record(e.record, self._schemas)) for e in entries]
        )

    def run_encoded(self, entries: Sequence[Encoded]) -> SliceResult:
        """Folds entries in one Spark job; their bytes go to the workers as they are."""
        if len(self._shards) == 1:
            return self._fold(entries)
        # A write is no matter of order within a slice: the reference applies it in between.
        runs = [list(run) for _, run in groupby(entries, key=lambda each: is_write(each.payload))]
        results = [self._fold(run) for run in runs or [[]]]
        return results[0] if len(results) == 1 else joined_results(results)

    def _fold(self, entries: Sequence[Encoded]) -> SliceResult:
        result = wire.joined(self._ask("slice", entries=entries))
        self._position = result.position
        self._base.add(entries)
        if self._base.is_long:
            self._base.begin(self._snapshots())
        return result

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Reads the state in the worker; see the contract."""
        # What can be asked for stands outside of partitions, so the first shard has it.
        ((_, parts),) = self._ask("query", text=text, first_only=True)
        rows: list[tuple[Any, ...]] = state.decode(bytes(parts[wire.DATA]))
        return rows

    def snapshot(self) -> bytes:
        """The state in the workers; from here on rebuilding starts with it."""
        self._base.begin(self._snapshots())
        return joined_snapshots(self._base.snapshots)

    def _snapshots(self) -> list[bytes]:
        return [bytes(parts[wire.SNAPSHOT]) for _, parts in self._ask("snapshot")]

    def restore(self, snapshot: bytes) -> None:
        """Takes over a snapshot; the position is the snapshot's. Raises SnapshotError."""
        position = state.position_of(snapshot)
        before = self._position, self._base.copy()
        self._incarnation += 1
        self._base.begin([snapshot])
        self._position = position
        try:
            self._ask("open")
        except SnapshotError:
            self._position, self._base = before
            self._incarnation += 1
            raise

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Switches playback while the app runs, for tests: in a cluster the app's text decides."""
        # The switch is in no log entry: a state without it is another incarnation.
        ((_, parts),) = self._ask("playback", text=json.dumps([on, idle_ms, increment_ms]))
        self._incarnation += 1
        self._base.begin([bytes(parts[wire.SNAPSHOT])])

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call; empty unless `observe` was asked for."""
        taken, self._observations = self._observations, []
        return taken

    def close(self) -> None:
        """Forgets the state, here at once and in the workers with their next tasks."""
        self._release(self._shards)
        self._shards = []
        self._base.begin([])

    def _release(self, shards: Sequence[_Shard]) -> None:
        for shard in shards:
            self._slices.release(shard.slot, self._instance)
            shard.sent.close()

    # --- asking the workers ----------------------------------------------------------------------

    def _ask(
        self,
        operation: str,
        *,
        entries: Sequence[Encoded] = (),
        text: str | None = None,
        first_only: bool = False,
    ) -> list[Reply]:
        """A reply per shard; the base is sent along where the worker wants it."""
        assert self._shards, "the executor is closed"
        shards = self._shards[:1] if first_only else self._shards
        replies: dict[int, Reply] = {}
        with_base = {shard.index for shard in self._shards if operation == "open"}
        for _ in range(ASK_ATTEMPTS):
            asked = [shard for shard in shards if shard.index not in replies]
            requests = [
                self._request(shard, operation, entries, text, with_base=shard.index in with_base)
                for shard in asked
            ]
            for shard, answer in zip(asked, self._send(asked, requests), strict=True):
                shard.location = answer.location
                if answer.status == "refused":
                    raise _error(answer)
                if answer.status == "unfit":
                    self._leave_columns(answer)
                    return self._ask(operation, entries=entries, text=text, first_only=first_only)
                reply = _reply(answer)
                if reply is None:
                    with_base.add(shard.index)
                    continue
                replies[shard.index] = reply
                if shard.index in with_base and operation != "open":
                    self._tell(answer.location, LOST)
            if len(replies) == len(shards):
                return self._taken([replies[shard.index] for shard in shards])
        raise SparkFailedError(f"no worker could {operation} after {ASK_ATTEMPTS} attempts")

    def _taken(self, replies: list[Reply]) -> list[Reply]:
        for _, parts in replies:
            self._observations += wire.decode_observations(parts[wire.OBSERVATIONS])
        return replies

    def _tell(self, location: Location, why: str) -> None:
        self._rebuilds += 1
        self._on_rebuilt(Rebuilt(location, self._position, self._base.entries, why))

    def _leave_columns(self, answer: wire.Answer) -> None:
        """Values have no columnar form: the reference folds on, in one worker, from the base."""
        self._base.join()
        self._release(self._shards[1:])
        del self._shards[1:]
        self._app = msgspec.structs.replace(self._app, columnar=False)
        self._incarnation += 1
        self._tell(answer.location, answer.message)

    def _request(
        self,
        shard: _Shard,
        operation: str,
        entries: Sequence[Encoded],
        text: str | None,
        *,
        with_base: bool,
    ) -> wire.Request:
        base, parts = self._base.message(shard.index) if with_base else (None, [])
        parts += [entry.payload for entry in entries]
        shared = self._slices.shares_memory
        return wire.Request(
            operation,
            self._instance,
            self._incarnation,
            self._app,
            self._position,
            shard.sent.put(parts, shared=shared),
            shared,
            [entry.position for entry in entries],
            text,
            base,
            self._slices.gone(shard.slot),
            self._incarnation + 1,
            shard.index,
            len(self._shards),
        )

    def _send(
        self, shards: Sequence[_Shard], requests: Sequence[wire.Request]
    ) -> list[wire.Answer]:
        tasks = [
            Task(shard.slot, wire.encode(request), shard.preference)
            for shard, request in zip(shards, requests, strict=True)
        ]
        return [wire.decode_answer(answer) for answer in self._slices.run(worker.serve, tasks)]


def _reply(answer: wire.Answer) -> Reply | None:
    """None when there is none: no state, or the worker died between its answer and now."""
    if answer.status != "done":
        return None
    try:
        return answer, blocks.get(answer.block)
    except OSError:
        return None


def _error(answer: wire.Answer) -> SiddhiQLError | SnapshotError | EventError:
    if answer.kind == "event":
        return EventError(answer.message, hint=answer.hint)
    if answer.kind == "snapshot":
        return SnapshotError(answer.message, hint=answer.hint)
    return SiddhiQLError(answer.message, line=answer.line, column=answer.column, hint=answer.hint)
