"""SparkExecutor: folds slices of the input log in Spark workers, one Spark job per slice.

The driver keeps what is needed to build the state anywhere: the last snapshot and the entries
folded since, bounded by bytes. A lost worker, a moved task or a task run twice is therefore
harmless: the worker says that it does not hold the state at the asked position and gets the base.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.events import LogEntry, Position
from lockstep.events.codec import encode_record
from lockstep.execute.contract import Encoded, SliceResult
from lockstep.execute.observe import Observation
from lockstep.execute.reference.executor import DEDUP_IDS_MAX
from lockstep.execute.spark import blocks, wire, worker
from lockstep.execute.spark.session import (
    SparkFailedError,
    SparkOptions,
    SparkSlices,
    Task,
    open_slices,
)
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.siddhiql import SiddhiQLError, check

REPLAY_MIN_BYTES = 128 * 1024 * 1024
"""The replay buffer is cut by a snapshot when it exceeds this and twice the last snapshot's size,
so that snapshots cost O(1) per byte folded."""

ASK_ATTEMPTS = 4
"""How often a request is sent before a job is taken for failed: once as it is, then with the base.
"""


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """See execute.contract.Encoded."""

    position: Position
    payload: bytes


_instances = itertools.count()


class SparkExecutor:
    """An app whose operators run in Spark's Python workers. See execute.contract.Executor.

    The worker is started and the app built in it when the executor is made, so that the first slice
    is not slower than others. `columnar` false keeps the app on the reference operators.
    """

    def __init__(
        self,
        app_text: str,
        *,
        start_ms: int | None = None,
        dedup_ids_max: int = DEDUP_IDS_MAX,
        observe: bool = False,
        columnar: bool = True,
        options: SparkOptions | None = None,
        slices: SparkSlices | None = None,
    ) -> None:
        self._schemas = check(app_text).streams
        self._app = wire.App(app_text, start_ms, dedup_ids_max, observe, columnar)
        self._observations: list[Observation] = []
        self._slices = slices if slices is not None else open_slices(options or SparkOptions())
        self._slot: int | None = self._slices.acquire()
        self._location: str | None = None
        self._sent = blocks.Holder()
        self._instance = f"{os.getpid()}-{next(_instances)}"
        self._incarnation = 0
        self._position: Position = 0
        self._snapshot: bytes | None = None
        self._replay: list[Encoded] = []
        self._replay_bytes = 0
        self._ask("open")

    @property
    def position(self) -> Position:
        """The last folded position."""
        return self._position

    @property
    def slot(self) -> int | None:
        """The slot whose worker holds the state; None once closed."""
        return self._slot

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Folds entries in one Spark job."""
        return self.run_encoded(
            [EncodedRecord(e.position, encode_record(e.record, self._schemas)) for e in entries]
        )

    def run_encoded(self, entries: Sequence[Encoded]) -> SliceResult:
        """Folds entries in one Spark job; their bytes go to the worker as they are."""
        answer, parts = self._ask("slice", entries=entries)
        result = wire.decode_result(answer, parts)
        self._position = result.position
        self._replay += entries
        self._replay_bytes += sum(len(entry.payload) for entry in entries)
        if self._replay_bytes > max(REPLAY_MIN_BYTES, 2 * len(self._snapshot or b"")):
            self.snapshot()
        return result

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Runs an on-demand query in the worker; raises SiddhiQLError."""
        _, parts = self._ask("query", text=text)
        rows: list[tuple[Any, ...]] = state.decode(bytes(parts[2]))
        if _may_write(text):
            # What it wrote is in no log entry: from here on only a snapshot has it.
            self.snapshot()
        return rows

    def snapshot(self) -> bytes:
        """The worker's state; from here on the replay buffer starts anew."""
        _, parts = self._ask("snapshot")
        data = bytes(parts[2])
        self._rebase(data)
        return data

    def restore(self, snapshot: bytes) -> None:
        """Takes over a snapshot; the position is the snapshot's. Raises SnapshotError."""
        position = state.position_of(snapshot)
        before = (self._position, self._snapshot, list(self._replay), self._replay_bytes)
        self._incarnation += 1
        self._rebase(snapshot)
        self._position = position
        try:
            self._ask("open")
        except SnapshotError:
            self._position, self._snapshot, self._replay, self._replay_bytes = before
            self._incarnation += 1
            raise

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Switches playback while the app runs, for tests: in a cluster the app's text decides."""
        self._ask("playback", text=json.dumps([on, idle_ms, increment_ms]))
        # The switch is in no log entry: from here on only a snapshot has it.
        self.snapshot()

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call; empty unless `observe` was asked for."""
        taken, self._observations = self._observations, []
        return taken

    def close(self) -> None:
        """Forgets the state, here at once and in the worker with its next task."""
        if self._slot is None:
            return
        self._slices.release(self._slot, self._instance)
        self._slot = None
        self._sent.close()
        self._replay.clear()
        self._snapshot = None

    def _rebase(self, snapshot: bytes) -> None:
        self._snapshot = snapshot
        self._replay.clear()
        self._replay_bytes = 0

    # --- asking the worker -----------------------------------------------------------------------

    def _ask(
        self, operation: str, *, entries: Sequence[Encoded] = (), text: str | None = None
    ) -> tuple[wire.Answer, list[memoryview]]:
        """(answer, parts of its block); the base is sent along when the worker wants it."""
        with_base = False
        for _ in range(ASK_ATTEMPTS):
            answer = self._send(self._request(operation, entries, text, with_base=with_base))
            self._location = answer.location
            if answer.status == "refused":
                raise _error(answer)
            if answer.status == "unfit":
                self._app = msgspec.structs.replace(self._app, columnar=False)
                self._incarnation += 1
            if answer.status == "done":
                try:
                    parts = blocks.get(answer.block)
                except OSError:
                    # The worker died between its answer and now; what it did is lost.
                    with_base = True
                    continue
                if parts:
                    self._observations += wire.decode_observations(parts[1])
                return answer, parts
            with_base = True
        raise SparkFailedError(f"no worker could {operation} after {ASK_ATTEMPTS} attempts")

    def _request(
        self, operation: str, entries: Sequence[Encoded], text: str | None, *, with_base: bool
    ) -> wire.Request:
        parts: list[Any] = []
        base = None
        if with_base:
            base = wire.Base(self._snapshot is not None, [e.position for e in self._replay])
            parts += [] if self._snapshot is None else [self._snapshot]
            parts += [entry.payload for entry in self._replay]
        parts += [entry.payload for entry in entries]
        shared = self._slices.shares_memory
        return wire.Request(
            operation,
            self._instance,
            self._incarnation,
            self._app,
            self._position,
            self._sent.put(parts, shared=shared),
            shared,
            [entry.position for entry in entries],
            text,
            base,
            self._slices.gone(self._slot or 0),
        )

    def _send(self, request: wire.Request) -> wire.Answer:
        assert self._slot is not None, "the executor is closed"
        task = Task(self._slot, wire.encode(request), self._location)
        (answer,) = self._slices.run(worker.serve, [task])
        return wire.decode_answer(answer)


def _error(answer: wire.Answer) -> SiddhiQLError | SnapshotError:
    if answer.kind == "snapshot":
        return SnapshotError(answer.message, hint=answer.hint)
    return SiddhiQLError(answer.message, line=answer.line, column=answer.column, hint=answer.hint)


def _may_write(text: str) -> bool:
    """Whether an on-demand query may change a table; asked too often it costs a snapshot."""
    words = {word.lower() for word in text.replace(";", " ").split()}
    return not words.isdisjoint({"insert", "update", "delete"})
