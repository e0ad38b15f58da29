"""Tables that are looked up: the database is asked when events come, and its answer goes into the
log with them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lockstep.clock import Clock
from lockstep.control import AppView
from lockstep.databases import Asking, Datasource, open_asking
from lockstep.events import StreamSchema
from lockstep.events.codec import Index
from lockstep.events.columns import ARROW_TYPES, ChunkLengths
from lockstep.events.objects import encode_object
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import AskedStream, ExternalTable, Lookup
from lockstep.siddhiql.durations import annotation_ms
from lockstep.telemetry import Metrics
from lockstep_services.receiver.copies import shape_of
from lockstep_services.receiver.drafts import BatchDraft, Draft
from lockstep_services.receiver.runs import AnyRun, BatchRun, Run

KEYS_AT_ONCE: Final = 1_000
PART_EVENTS: Final = 500
PART_BYTES: Final = 131_072
"""Of the events in a record; the rest of it is room for their answers."""
Row = tuple[Any, ...]
Rows = Sequence[Row]


@dataclass(frozen=True)
class AskedDraft:
    """Events with what was answered: rows, events, and the keys of the rows, as one record.

    `answers`: of each table its rows. It is not cut: another answer, to a send that is repeated,
    would be cut elsewhere.
    """

    asked: AskedStream
    schema: StreamSchema
    events: BatchDraft
    answers: tuple[Rows, ...]

    @property
    def event_count(self) -> int:
        """Of the events."""
        return self.events.event_count

    @property
    def chunk_count(self) -> int:
        """Of the events."""
        return self.events.chunk_count

    @property
    def batch(self) -> pa.RecordBatch:
        """The events alone."""
        return self.events.batch

    @property
    def chunk_lengths(self) -> Sequence[int] | ChunkLengths:
        """Of the events."""
        return self.events.chunk_lengths

    @property
    def event_ids(self) -> pa.Array | None:
        """Of the events."""
        return self.events.event_ids

    @property
    def size_bytes(self) -> int:
        """Of the events."""
        return self.events.size_bytes

    def encoded(
        self, clock_ms: int, send_id: bytes = b"", trace: str = "", index: Index | None = None
    ) -> bytes:
        return self._whole().encoded(clock_ms, send_id, trace, index)

    def halves(self) -> None:
        return None

    def behind(self, chunks: int) -> AskedDraft:
        raise AssertionError("it is stored whole or not at all")

    def cut(self, max_bytes: int, max_events: int) -> Iterator[Draft]:
        yield self

    def _whole(self) -> BatchDraft:
        rows = [row for answer in self.answers for row in answer]
        before, after = len(rows), len(rows)
        events = self.events.batch
        total = before + events.num_rows + after
        comes = [
            self.asked.comes(table) for table, answer in enumerate(self.answers) for _ in answer
        ]
        changes = np.full(total, AskedStream.EVENT, np.int32)
        changes[:before] = comes
        changes[total - after :] = np.asarray(comes, np.int32) + 1
        arrays = [pa.array(changes)]
        for column in events.columns:
            none = pa.nulls(before, column.type)
            arrays.append(pa.concat_arrays([none, column, none]))
        place = 0
        kinds = self.schema.types[1 + events.num_columns :]
        for table, answer in enumerate(self.answers):
            ahead = sum(map(len, self.answers[:table]))
            for attribute in range(len(self.asked.tables[table].definition.attributes)):
                values: list[Any] = [None] * total
                column = [row[attribute] for row in answer]
                values[ahead : ahead + len(answer)] = column
                tail = total - after + ahead
                values[tail : tail + len(answer)] = column
                arrays.append(pa.array(values, ARROW_TYPES[kinds[place]]))
                place += 1
        whole = pa.RecordBatch.from_arrays(arrays, names=list(self.schema.names))
        ends = [before] if before else []
        lengths = [*ends, *(int(one) for one in self.events.chunk_lengths), *ends]
        return BatchDraft(
            self.schema,
            whole,
            lengths,
            _padded(self.events.timestamps_ms, before, after, repeat=True),
            _padded(self.events.event_ids, before, after, repeat=False),
        )


def _padded(array: pa.Array | None, before: int, after: int, *, repeat: bool) -> pa.Array | None:
    if array is None:
        return None
    first = array[0].as_py() if repeat else None
    last = array[len(array) - 1].as_py() if repeat else None
    return pa.concat_arrays(
        [pa.array([first] * before, array.type), array, pa.array([last] * after, array.type)]
    )


class _Cache:
    """What was answered lately, by what was asked; at most so many keys, for so long."""

    def __init__(self, table: ExternalTable) -> None:
        found = table.store.nested("cache")
        self._most = int(found[0].get("size") or 0) if found else 0
        self._holds_ms = annotation_ms(found[0], "retention.period") if found else None
        self._known: OrderedDict[Row, tuple[int, Rows]] = OrderedDict()

    def get(self, key: Row, now_ms: int) -> Rows | None:
        known = self._known.get(key)
        if known is None:
            return None
        if self._holds_ms is not None and now_ms - known[0] >= self._holds_ms:
            del self._known[key]
            return None
        self._known.move_to_end(key)
        return known[1]

    def put(self, key: Row, rows: Rows, now_ms: int) -> None:
        if self._most:
            self._known[key] = now_ms, rows
            if len(self._known) > self._most:
                self._known.popitem(last=False)


class Lookups:
    """Asks for the rows of events, of all apps."""

    def __init__(
        self,
        clock: Clock,
        datasource_of: Callable[[str, ast.Annotation, str], Datasource],
        metrics: Metrics,
        open_: Callable[[Datasource], Asking] = open_asking,
    ) -> None:
        self._clock = clock
        self._datasource_of = datasource_of
        self._metrics = metrics
        self._open = open_
        self._asking: dict[str, Asking] = {}
        self._asks: dict[str, set[str]] = {}
        """By app: the databases that it has asked, by what they are connected to."""
        self._caches: dict[str, tuple[str, dict[Lookup, _Cache]]] = {}
        """By app: of one version, the one that was asked for last."""
        self._turns: dict[str, asyncio.Lock] = {}

    def turn(self, app: str) -> asyncio.Lock:
        """For what has an order: whoever waits first is first."""
        return self._turns.setdefault(app, asyncio.Lock())

    async def answered(self, view: AppView, runs: Sequence[AnyRun]) -> Sequence[AnyRun]:
        """The same events with answers, where their stream asks. Errors: UnavailableError,
        DatabaseError, DatasourceError."""
        asked = {one.stream.name: one for one in view.checked.asked}
        if not asked:
            return runs
        return [
            await self._run(view, asked[run.stream], run) if run.stream in asked else run
            for run in runs
        ]

    async def keep(self, apps: Collection[str]) -> None:
        """Forgets all other apps: they are not deployed any more. Gives the connections back that
        these alone have used."""
        self._turns = {app: one for app, one in self._turns.items() if app in apps}
        self._caches = {app: one for app, one in self._caches.items() if app in apps}
        self._asks = {app: one for app, one in self._asks.items() if app in apps}
        used = set().union(*self._asks.values())
        for dsn in [one for one in self._asking if one not in used]:
            await self._asking.pop(dsn).close()

    async def close(self) -> None:
        """Gives all connections back."""
        for one in self._asking.values():
            await one.close()

    async def _run(self, view: AppView, asked: AskedStream, run: AnyRun) -> BatchRun:
        schema = view.plan.schemas[asked.name]
        drafts = [draft_of_rows(run)] if isinstance(run, Run) else run.batches
        made = []
        for draft in drafts:
            assert isinstance(draft, BatchDraft)
            known = [
                await self._ask(view, lookup, _keys(lookup, asked, draft.batch))
                for lookup in asked.lookups
            ]
            made += [
                AskedDraft(asked, schema, part, _rows(asked, part.batch, known))
                for part in draft.cut(PART_BYTES, PART_EVENTS)
            ]
        return BatchRun(run.schema, made)

    async def _ask(self, view: AppView, lookup: Lookup, keys: Sequence[Row]) -> Mapping[Row, Rows]:
        table = lookup.table
        version = view.deployment.version
        if self._caches.get(view.name, ("", {}))[0] != version:
            self._caches[view.name] = version, {}
            self._asks.pop(view.name, None)
        cache = self._caches[view.name][1].setdefault(lookup, _Cache(table))
        now_ms = self._clock.monotonic_ms()
        known: dict[Row, Rows] = {}
        missing: list[Row] = []
        for key in keys:
            rows = cache.get(key, now_ms)
            if rows is None:
                missing.append(key)
            else:
                known[key] = rows
        for at in range(0, len(missing), KEYS_AT_ONCE):
            part = missing[at : at + KEYS_AT_ONCE]
            for key, rows in (await self._fetched(view.name, lookup, part)).items():
                cache.put(key, rows, now_ms)
                known[key] = rows
        labels = {"app": view.name, "table": table.name}
        self._metrics.count("lockstep_lookups_total", len(keys), **labels)
        self._metrics.count("lockstep_lookups_asked_total", len(missing), **labels)
        return known

    async def _fetched(self, app: str, lookup: Lookup, keys: Sequence[Row]) -> dict[Row, list[Row]]:
        shape = shape_of(lookup.table)
        datasource = self._datasource_of(app, lookup.table.store, shape.table)
        asking = self._asking.get(datasource.dsn)
        if asking is None:
            asking = self._asking[datasource.dsn] = self._open(datasource)
        self._asks.setdefault(app, set()).add(datasource.dsn)
        attributes = [one.name for one in lookup.table.definition.attributes]
        columns = dict(lookup.table.columns)
        equal = [columns[name] for name, _ in lookup.equal]
        places = [attributes.index(name) for name, _ in lookup.equal]
        found: dict[Row, list[Row]] = {key: [] for key in keys}
        for row in await asking.rows(shape, equal, keys):
            key = tuple(row[place] for place in places)
            if key in found:
                found[key].append(row)
        return found


def _keys(lookup: Lookup, asked: AskedStream, batch: pa.RecordBatch) -> list[Row]:
    """What the events ask for, each once; nobody asks for a null or a NaN, which equal nothing."""
    names = [attribute.name for attribute in asked.stream.attributes]
    columns: list[Sequence[Any]] = []
    for _, value in lookup.equal:
        if isinstance(value, ast.Constant):
            columns.append([value.value] * batch.num_rows)
        else:
            columns.append(batch.column(names.index(value)).to_pylist())
    rows = dict.fromkeys(zip(*columns, strict=True))
    return [row for row in rows if all(value is not None and value == value for value in row)]


def _rows(
    asked: AskedStream, batch: pa.RecordBatch, known: Sequence[Mapping[Row, Rows]]
) -> tuple[Rows, ...]:
    """Of each table the rows that the events asked for, each once by its key."""
    found: list[dict[Row, Row]] = [{} for _ in asked.tables]
    for lookup, answers in zip(asked.lookups, known, strict=True):
        attributes = [one.name for one in lookup.table.definition.attributes]
        places = [attributes.index(name) for name in lookup.table.key]
        rows = found[asked.tables.index(lookup.table)]
        for key in _keys(lookup, asked, batch):
            rows.update((tuple(row[i] for i in places), row) for row in answers[key])
    return tuple(list(rows.values()) for rows in found)


def draft_of_rows(run: Run) -> BatchDraft:
    """Decoded events as columns."""
    events = [event for chunk in run.chunks for event in chunk]
    arrays = []
    for place, kind in enumerate(run.schema.types):
        values = [event.data[place] for event in events]
        if ARROW_TYPES[kind] == pa.binary():
            values = [None if value is None else encode_object(value) for value in values]
        arrays.append(pa.array(values, ARROW_TYPES[kind]))
    times = [event.timestamp_ms for event in events]
    ids = [event.event_id for event in events]
    return BatchDraft(
        run.schema,
        pa.RecordBatch.from_arrays(arrays, names=list(run.schema.names)),
        [len(chunk) for chunk in run.chunks],
        pa.array(times, pa.int64()) if run.has_timestamps else None,
        pa.array(ids, pa.string()) if any(one is not None for one in ids) else None,
    )
