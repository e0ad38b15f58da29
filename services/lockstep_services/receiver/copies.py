"""Tables that follow a database: one receiver reads each, by lease, into the app's input log.

What is read is appended before the database may forget it. Each batch has a key, so one that comes
again after a crash is found in the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from lockstep.clock import Clock
from lockstep.connectors.mongodb import COLLECTION
from lockstep.control import AppView, Catalogue
from lockstep.databases import (
    ChangeBatch,
    Datasource,
    Following,
    TableShape,
    open_following,
)
from lockstep.events import LockstepError, StreamSchema, UnavailableError
from lockstep.events.columns import ARROW_TYPES
from lockstep.frame import LeaseKeeper, Tasks
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import ExternalTable
from lockstep.siddhiql.durations import annotation_ms
from lockstep.store import Cursors
from lockstep.telemetry import Logger, Metrics
from lockstep_services.receiver.cursors import CursorMemory
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.intakes import Intakes
from lockstep_services.receiver.leases import ReaderLeases
from lockstep_services.receiver.runs import BatchRun

HELD_WAIT_MS: Final = 1_000
PAUSE_MS: Final = 200
CHUNK_BYTES: Final = 131_072
"""What is seen at once is one chunk, and a chunk has to fit into a record: larger transactions are
seen in steps of about so much."""


def shape_of(table: ExternalTable) -> TableShape:
    """What is wanted of the database."""
    columns = dict(table.columns)
    return TableShape(
        table.store.get("table.name") or table.store.get(COLLECTION) or table.name,
        tuple(columns.values()),
        tuple(attribute.type for attribute in table.definition.attributes),
        tuple(columns[name] for name in table.key),
    )


@dataclass(frozen=True)
class Copied:
    """A copied table of a deployed app."""

    view: AppView
    table: ExternalTable

    @property
    def name(self) -> str:
        """Among those of all apps; stable for equal app texts."""
        return f"{self.view.name}/{self.table.name}"

    @property
    def schema(self) -> StreamSchema:
        """Of its stream of changes."""
        return self.view.plan.schemas[self.table.changes]

    @property
    def shape(self) -> TableShape:
        """What is wanted of the database."""
        return shape_of(self.table)

    @property
    def age_ms(self) -> int:
        """Since when the app's logs exist."""
        return self.view.log.since_ms

    @property
    def label(self) -> str:
        """What the database knows it by: a slot's name may hold little."""
        named = f"{self.name}/{self.age_ms}/{self.shape.table}".encode()
        return f"lockstep_{hashlib.sha256(named).hexdigest()[:24]}"

    @property
    def life(self) -> int:
        """Of whose state the table is a part; another life may begin with another one."""
        return self.view.deployment.layout or self.view.deployment.life.number

    def is_same(self, other: Copied) -> bool:
        """Whoever follows the one goes on."""
        return self.table == other.table and self._state == other._state

    @property
    def _state(self) -> tuple[int, int]:
        return self.age_ms, self.life


class CopyFeeds:
    """Starts and stops a task per copied table as the catalogue changes."""

    def __init__(
        self,
        catalogue: Catalogue,
        intakes: Intakes,
        gate: Gate,
        tasks: Tasks,
        clock: Clock,
        cursors: Cursors,
        leases: ReaderLeases,
        datasource_of: Callable[[str, ast.Annotation, str], Datasource],
        led_life: Callable[[str], int | None],
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._catalogue = catalogue
        self._intakes = intakes
        self._gate = gate
        self._tasks = tasks
        self._clock = clock
        self._cursors = cursors
        self._leases = leases
        self._datasource_of = datasource_of
        self._led_life = led_life
        self._metrics = metrics
        self._log = log
        self._running: dict[str, Copied] = {}

    async def run(self) -> None:
        """Until cancelled."""
        await self._catalogue.follow(self.follow_catalogue)

    async def follow_catalogue(self) -> None:
        """Brings the tasks in line with what is deployed now."""
        wanted = self._wanted()
        for name, copied in list(self._running.items()):
            if name not in wanted or wanted[name].label != copied.label:
                await self._end(name, for_good=True)
            elif not wanted[name].is_same(copied):
                await self._end(name, for_good=False)
            else:
                self._running[name] = wanted[name]
        for name, copied in wanted.items():
            if name not in self._running:
                self._running[name] = copied
                self._tasks.supervise(f"copy-{name}", partial(self._feed, name))

    async def stop(self) -> None:
        """Another receiver may go on at once."""
        await self._tasks.stop("copies")
        for name in list(self._running):
            await self._end(name, for_good=False)
        await self._leases.stop()

    async def _end(self, name: str, *, for_good: bool) -> None:
        await self._tasks.stop(f"copy-{name}")
        copied = self._running.pop(name)
        if for_good:
            self._leases.end(name, partial(self._is_wanted, copied), partial(self._forget, copied))
        else:
            await self._leases.let_go(name)

    def _wanted(self) -> dict[str, Copied]:
        """By name, what is deployed now."""
        return {
            copied.name: copied
            for view in self._catalogue.views
            for copied in (Copied(view, table) for table in view.checked.external)
        }

    def _is_wanted(self, copied: Copied) -> bool:
        """Whether whoever follows it now goes on with what the database keeps: the same app may
        have been deployed again, and another receiver follows it already."""
        now = self._wanted().get(copied.name)
        return now is not None and now.label == copied.label

    async def _forget(self, copied: Copied) -> None:
        """What nobody reads any more the database shall not keep."""
        try:
            following = self._following(copied)
            await following.forget()
        except LockstepError as error:
            self._log.warning(
                "a database keeps changes for a table that is not followed any more",
                table=copied.name, slot=copied.label, error=str(error),
            )  # fmt: skip

    async def _feed(self, name: str) -> None:
        keeper = await self._leases.keep(name)
        while True:
            if await keeper.wait_held(HELD_WAIT_MS) and await self._is_led(self._running[name]):
                following = self._following(self._running[name])
                try:
                    async for batch in following.changes():
                        if batch is not None:
                            was_there = await self._take(self._running[name], keeper, batch)
                            following.told(was_there=was_there)
                        if not keeper.held:
                            break
                finally:
                    await following.close()

    async def _is_led(self, copied: Copied) -> bool:
        """The processors carry the state of this life, so that the rows come behind its
        beginning."""
        led = self._led_life(copied.view.name)
        if led is not None and led >= copied.life:
            return True
        await self._clock.sleep_ms(PAUSE_MS)
        return False

    def _following(self, copied: Copied) -> Following:
        store = copied.table.store
        return open_following(
            self._datasource_of(copied.view.name, store, copied.shape.table),
            copied.shape,
            copied.label,
            CursorMemory(self._cursors, copied.view.name, f"copy.{copied.label}", copied.age_ms),
            self._clock,
            life=copied.life,
            poll_ms=annotation_ms(store, "poll.interval"),
            publication=store.get("publication"),
        )

    async def _take(self, copied: Copied, keeper: LeaseKeeper, batch: ChangeBatch) -> bool:
        """Durable when it returns; whether it was before. While the processors lag it waits.
        UnavailableError when another receiver may follow the table by now: what it has loaded must
        not be set back."""
        view = copied.view
        while keeper.held and self._gate.is_closed(view.name):
            await self._clock.sleep_ms(PAUSE_MS)
        run = BatchRun(copied.schema, [draft_of(copied.schema, batch)])
        if not keeper.held:
            raise UnavailableError("the lease of this table is lost", where=copied.name)
        receipt = await self._intakes.of(view).submit([run], f"copy/{copied.name}/{batch.id}")
        self._metrics.count(
            "lockstep_copied_rows_total", len(batch.kinds), app=view.name, table=copied.table.name
        )
        return receipt.duplicate


def draft_of(schema: StreamSchema, batch: ChangeBatch) -> BatchDraft:
    """The changes as columns of the stream by which they come."""
    arrays = [pa.array([int(kind) for kind in batch.kinds], pa.int32())]
    for kind, values in zip(schema.types[1:], batch.columns, strict=True):
        arrays.append(pa.array(values, ARROW_TYPES[kind]))
    rows = pa.RecordBatch.from_arrays(arrays, names=list(schema.names))
    return BatchDraft(schema, rows, chunks_of(batch.chunks, rows.nbytes // max(1, rows.num_rows)))


def chunks_of(lengths: Sequence[int], bytes_per_row: int) -> Sequence[int]:
    """The same with none that is too large for a record."""
    most = max(1, CHUNK_BYTES // max(1, bytes_per_row))
    found: list[int] = []
    for length in lengths:
        whole, rest = divmod(length, most)
        found += [most] * whole + ([rest] if rest else [])
    return found
