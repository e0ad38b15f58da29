"""Asks the Spark workers that hold an app's state, and has it rebuilt where it is gone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lockstep.columns.column import Suspected
from lockstep.events import Position, StreamSchema
from lockstep.events.codec import EncodedEntry
from lockstep.execute.contract import QueryWork, StateLostError
from lockstep.execute.made import EntriesTogether
from lockstep.execute.observe import Observation
from lockstep.execute.spark import blocks, wire, worker
from lockstep.execute.spark.company import (
    Meanwhile,
    SparkFailedError,
    Task,
    WorkerDiedError,
    nothing,
)
from lockstep.execute.spark.door import Door
from lockstep.execute.spark.location import Location
from lockstep.execute.spark.rebuilding import Base
from lockstep.execute.spark.session import SparkSlices
from lockstep.execute.spark.slots import Use
from lockstep.execute.together import Together, put_together
from lockstep.execute.undoing import Poisoned
from lockstep.execute.work import joined_work
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.siddhiql import SiddhiQLError

ASK_ATTEMPTS = 4
"""How often a request is sent before a job is taken for failed: once as it is, then with the base.
"""


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


@dataclass(frozen=True, slots=True)
class _Ready:
    """A block that was written before anybody asked for it, and of which entries. `together`: see
    wire.Request."""

    entries: Sequence[EncodedEntry]
    block: blocks.Block
    together: list[str] | None

    def is_of(self, entries: Sequence[EncodedEntry]) -> bool:
        """Whether it is of these, and not of what is just equal to them."""
        return len(entries) == len(self.entries) and all(
            one.payload is other.payload and one.position == other.position
            for one, other in zip(entries, self.entries, strict=True)
        )


@dataclass(slots=True)
class _Shard:
    """The driver's end of a worker that holds the state, or a part of it."""

    index: int
    slot: int
    location: Location | None = None
    state_rows: int = 0
    runs_seen: int = -1
    sent: blocks.Holder = field(default_factory=blocks.Holder)
    received: blocks.Reader = field(default_factory=blocks.Reader)
    ready: _Ready | None = None
    takes_together: bool = False

    def get_ready(self, entries: Sequence[EncodedEntry], records: Together | None) -> None:
        """The next slice is of these entries, most likely; `records`: what is in them."""
        parts: Sequence[Any] = [entry.payload for entry in entries]
        together = None
        if records is not None and self.takes_together:
            parts, together = wire.encode_together(records), list(records.batches)
        self.ready = _Ready(entries, self.sent.put(parts, shared=True), together)

    def block(
        self, base: Sequence[blocks.Buffer], entries: Sequence[EncodedEntry], *, shared: bool
    ) -> tuple[blocks.Block, list[str] | None]:
        """A base and entries as a block, which may be ready. With it `together`: see
        wire.Request."""
        ready, self.ready = self.ready, None
        if ready is not None:
            if not base and ready.is_of(entries):
                return ready.block, ready.together
            self.sent.withdraw()
        if isinstance(entries, EntriesTogether) and not base and self.takes_together:
            records = entries.records
            block = self.sent.put(wire.encode_together(records), shared=shared)
            return block, list(records.batches)
        parts: list[Any] = [*base, *(entry.payload for entry in entries)]
        return self.sent.put(parts, shared=shared), None

    @property
    def preference(self) -> str | None:
        return None if self.location is None else self.location.preference


Reply = tuple[wire.Answer, list[memoryview]]
"""An answer and the parts of its block."""

_instances = itertools.count()


class Workers:
    """The workers of one app instance, a shard each.

    `position` and `incarnation` are those that the state has to stand at, `base` is what it is
    rebuilt from; whoever changes the state keeps them in step. `observations` gathers what was
    observed. `use`: which slots they may be in. `coming`: what most likely is folded behind the
    next slice; its block is written while the workers fold that.
    """

    def __init__(
        self,
        app: wire.App,
        schemas: Mapping[str, StreamSchema],
        slices: SparkSlices,
        base: Base,
        on_rebuilt: Callable[[Rebuilt], None],
        on_unfit: Callable[[], None],
        use: Use,
    ) -> None:
        self.position: Position = 0
        self.incarnation = 0
        self.base = base
        self.observations: list[Observation] = []
        self.work: QueryWork = {}
        self.coming: Sequence[EncodedEntry] = ()
        self.rebuilds = 0
        self.shards = [_Shard(0, slices.acquire(use))]
        self._app = app
        self._schemas = schemas
        self._slices = slices
        self._on_rebuilt = on_rebuilt
        self._on_unfit = on_unfit
        self._use = use
        self._door = Door(self._give_back)
        self._instance = f"{os.getpid()}-{next(_instances)}"

    def open(self, shards: int) -> None:
        """Builds the app in a worker, and cuts it into so many shards if it can be cut."""
        ((answer, _),) = self.ask("open")
        wanted = min(shards, self._slices.most(self._use))
        if not answer.splits or wanted < 2:
            return
        with self._door.inside():
            for index in range(1, wanted):
                used = [shard.slot for shard in self.shards]
                self.shards.append(_Shard(index, self._slices.acquire(self._use, used)))
        self.incarnation += 1
        self.ask("open")

    def close(self) -> None:
        """Forgets the state, here and in the workers with their next tasks: at once, or, where
        somebody still asks for something, when that is over. Waits for nobody."""
        self._door.close()

    def _give_back(self) -> None:
        shards, self.shards = self.shards, []
        self._release(shards)
        self.base.begin([])

    def _release(self, shards: Sequence[_Shard]) -> None:
        for shard in shards:
            self._slices.release(self._use, shard.slot, shard.preference, self._instance)
            shard.sent.close()

    def are_forgotten(self) -> bool:
        """Whether a worker has run nothing since this was asked last, for whatever state."""
        forgotten = False
        for shard in self.shards:
            runs = self._slices.runs(shard.slot, shard.preference)
            forgotten = forgotten or runs == shard.runs_seen
            shard.runs_seen = max(runs, shard.runs_seen)
        return forgotten

    def touch(self) -> None:
        """Keeps the workers of an idle state: Spark ends those of which nothing is asked. One touch
        is enough for all states in a worker, and none where others were asked for something."""
        if self.are_forgotten():
            self.ask("slice")

    def ask(
        self,
        operation: str,
        *,
        entries: Sequence[EncodedEntry] = (),
        text: str | None = None,
        first_only: bool = False,
    ) -> list[Reply]:
        """A reply per shard; the base is sent along where the worker wants it. StateLostError where
        it wants one and there is none, and of a closed executor. Suspected, Poisoned and
        WorkerDiedError: the state is gone from the worker, and built again from the base when
        something is asked next."""
        with self._door.inside():
            shards = self.shards[:1] if first_only else self.shards
            replies: dict[int, Reply] = {}
            with_base = {shard.index for shard in self.shards if operation == "open"}
            for _ in range(ASK_ATTEMPTS):
                self._door.check()
                asked = [shard for shard in shards if shard.index not in replies]
                requests = [
                    self._request(
                        shard, operation, entries, text, with_base=shard.index in with_base
                    )
                    for shard in asked
                ]
                meanwhile = self._get_ready if operation == "slice" else nothing
                for shard, answer in zip(
                    asked, self._send(asked, requests, meanwhile), strict=True
                ):
                    shard.location = answer.location
                    shard.sent.take_back(answer.freed)
                    if answer.status == "refused":
                        raise _error(answer)
                    if answer.status in _GIVEN_UP:
                        raise _given_up(answer)
                    if answer.status == "unfit":
                        self._on_unfit()
                        self.leave_columns(answer.message)
                        return self.ask(
                            operation, entries=entries, text=text, first_only=first_only
                        )
                    reply = _reply(answer, shard.received)
                    if reply is None:
                        with_base.add(shard.index)
                        continue
                    replies[shard.index] = reply
                    shard.state_rows = answer.state_rows
                    shard.takes_together = answer.takes_together
                    shard.runs_seen = self._slices.runs(shard.slot, shard.preference)
                    if shard.index in with_base and operation != "open":
                        self._tell(answer.location, LOST)
                if len(replies) == len(shards):
                    return self._taken([replies[shard.index] for shard in shards])
            raise SparkFailedError(f"no worker could {operation} after {ASK_ATTEMPTS} attempts")

    def _taken(self, replies: list[Reply]) -> list[Reply]:
        for answer, parts in replies:
            if answer.work:
                self.work = joined_work((self.work, answer.work))
            self.observations += wire.decode_observations(parts[wire.OBSERVATIONS])
        return replies

    def _tell(self, location: Location, why: str) -> None:
        self.rebuilds += 1
        self._on_rebuilt(Rebuilt(location, self.position, self.base.entries, why))

    def leave_columns(self, why: str) -> None:
        """The reference folds on, in one worker, from the base. StateLostError."""
        with self._door.inside():
            self._needs_base(why)
            self.base.join()
            self._release(self.shards[1:])
            del self.shards[1:]
            self._app = msgspec.structs.replace(self._app, columnar=False)
            self.incarnation += 1
            for shard in self.shards:
                if shard.location is not None:
                    self._tell(shard.location, why)

    def take_columns(self, shards: int) -> None:
        """Columns fold on, from the base."""
        self._app = msgspec.structs.replace(self._app, columnar=True)
        self.incarnation += 1
        self.open(shards)

    @property
    def is_columnar(self) -> bool:
        """Whether workers fold in columns what they can."""
        return self._app.columnar

    def _needs_base(self, why: str) -> None:
        if not self.base.whole:
            raise StateLostError(f"the state is gone ({why}), and too large to be kept twice")

    def _request(
        self,
        shard: _Shard,
        operation: str,
        entries: Sequence[EncodedEntry],
        text: str | None,
        *,
        with_base: bool,
    ) -> wire.Request:
        if with_base:
            self._needs_base(LOST)
        base, parts = self.base.message(shard.index) if with_base else (None, [])
        shared = self._slices.shares_memory
        block, together = shard.block(parts, entries, shared=shared)
        return wire.Request(
            operation,
            self._instance,
            self.incarnation,
            self._app,
            self.position,
            block,
            shared,
            [entry.position for entry in entries],
            text,
            base,
            self._slices.gone(shard.slot, shard.preference),
            self.incarnation + 1,
            shard.index,
            len(self.shards),
            shard.received.freed(),
            together,
        )

    def _get_ready(self) -> None:
        """Once for each slice: what does not come next is written when it comes."""
        coming, self.coming = self.coming, ()
        size_bytes = sum(entry.size_bytes for entry in coming)
        if not self._slices.shares_memory or size_bytes <= blocks.INLINE_MAX_BYTES:
            return
        takes = any(shard.takes_together for shard in self.shards)
        records = put_together(coming, self._schemas) if takes else None
        for shard in self.shards:
            shard.get_ready(coming, records)

    def _send(
        self, shards: Sequence[_Shard], requests: Sequence[wire.Request], meanwhile: Meanwhile
    ) -> list[wire.Answer]:
        tasks = [
            Task(shard.slot, wire.encode(request), shard.preference, self._door.is_open)
            for shard, request in zip(shards, requests, strict=True)
        ]
        return [
            wire.decode_answer(answer)
            for answer in self._slices.run(worker.serve, tasks, meanwhile)
        ]


def _reply(answer: wire.Answer, received: blocks.Reader) -> Reply | None:
    """None when there is none: no state, or the worker died between its answer and now."""
    if answer.status != "done":
        return None
    try:
        return answer, received.get(answer.block)
    except OSError:
        return None


_GIVEN_UP = frozenset({"suspected", "poisoned", "exhausted"})


def _given_up(answer: wire.Answer) -> Exception:
    if answer.status == "suspected":
        return Suspected(answer.message)
    if answer.status == "poisoned":
        return Poisoned(answer.position, answer.poisoned, answer.message)
    return WorkerDiedError("a worker has no memory left")


def _error(answer: wire.Answer) -> SiddhiQLError | SnapshotError | EventError:
    if answer.kind == "event":
        return EventError(answer.message, hint=answer.hint)
    if answer.kind == "snapshot":
        return SnapshotError(answer.message, hint=answer.hint)
    return SiddhiQLError(answer.message, line=answer.line, column=answer.column, hint=answer.hint)
