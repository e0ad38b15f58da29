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
from typing import Any

import msgspec

from lockstep.events import LogEntry, Position
from lockstep.events.codec import encode_record
from lockstep.execute.contract import Encoded, SliceResult
from lockstep.execute.observe import Observation
from lockstep.execute.reference.executor import DEDUP_IDS_MAX
from lockstep.execute.spark import blocks, wire, worker
from lockstep.execute.spark.rebuilding import Base
from lockstep.execute.spark.location import Location
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
        self._base = Base(1, replay_min_bytes)
        self._shards = [_Shard(0, self._slices.acquire())]
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
        """Folds entries in one Spark job; their bytes go to the worker as they are."""
        ((answer, parts),) = self._ask("slice", entries=entries)
        result = wire.decode_result(answer, parts)
        self._position = result.position
        self._base.add(entries)
        if self._base.is_long:
            self.snapshot()
        return result

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Reads the state in the worker; see the contract."""
        ((_, parts),) = self._ask("query", text=text)
        rows: list[tuple[Any, ...]] = state.decode(bytes(parts[wire.DATA]))
        return rows

    def snapshot(self) -> bytes:
        """The worker's state; from here on rebuilding starts with it."""
        ((_, parts),) = self._ask("snapshot")
        data = bytes(parts[wire.SNAPSHOT])
        self._base.begin([data])
        return data

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
        for shard in self._shards:
            self._slices.release(shard.slot, self._instance)
            shard.sent.close()
        self._shards.clear()
        self._base.begin([])

    # --- asking the workers ----------------------------------------------------------------------

    def _ask(
        self, operation: str, *, entries: Sequence[Encoded] = (), text: str | None = None
    ) -> list[Reply]:
        """A reply per shard; the base is sent along where the worker wants it."""
        assert self._shards, "the executor is closed"
        replies: dict[int, Reply] = {}
        with_base = {shard.index for shard in self._shards if operation == "open"}
        for _ in range(ASK_ATTEMPTS):
            asked = [shard for shard in self._shards if shard.index not in replies]
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
                    return self._ask(operation, entries=entries, text=text)
                reply = _reply(answer)
                if reply is None:
                    with_base.add(shard.index)
                    continue
                replies[shard.index] = reply
                if shard.index in with_base and operation != "open":
                    self._tell(answer.location, LOST)
            if len(replies) == len(self._shards):
                return self._taken(replies)
        raise SparkFailedError(f"no worker could {operation} after {ASK_ATTEMPTS} attempts")

    def _taken(self, replies: dict[int, Reply]) -> list[Reply]:
        ordered = [replies[shard.index] for shard in self._shards]
        for _, parts in ordered:
            self._observations += wire.decode_observations(parts[wire.OBSERVATIONS])
        return ordered

    def _tell(self, location: Location, why: str) -> None:
        self._rebuilds += 1
        self._on_rebuilt(Rebuilt(location, self._position, self._base.entries, why))

    def _leave_columns(self, answer: wire.Answer) -> None:
        """Values have no columnar form: the reference folds on, from the base."""
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
