"""Hosted queries: those without a columnar form, and what they share, on the reference's operators
in the midst of an app in columns.

They take the chunks that others bring in the order of the whole app's run, fire their own timers
between them, and give what they write with its place in that run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.labels import Levels
from lockstep.columns.merging import merged
from lockstep.columns.order import START, places_of
from lockstep.columns.output import Output
from lockstep.columns.units import States
from lockstep.execute.columnar.hosted.clocks import keeps_time
from lockstep.execute.columnar.hosted.engine import HostedEngine, Observed
from lockstep.execute.columnar.hosted.moving import Moving
from lockstep.execute.columnar.hosted.records import Records
from lockstep.execute.columnar.hosted.tables import SharedTable
from lockstep.execute.columnar.sharing import models_of
from lockstep.execute.columnar.slices import Slice
from lockstep.execute.observe import Observe
from lockstep.operators import state
from lockstep.operators.contract import Stateful, StreamEvent
from lockstep.plan import AppPlan
from lockstep.plan.paths import owner_of
from lockstep.plan.ranks import owners_of, ranks_of
from lockstep.tables.columns import TableUnit

_APP_WIDE = frozenset({"playback"})
"""Operators that every engine has: their state is the app's, not that of hosted queries."""


@dataclass(frozen=True, slots=True)
class Members:
    """What is hosted together, by name: nodes of the plan, tables, named windows, aggregations and
    triggers."""

    nodes: frozenset[str]
    tables: frozenset[str] = frozenset()
    windows: frozenset[str] = frozenset()
    aggregations: frozenset[str] = frozenset()
    triggers: frozenset[str] = frozenset()

    def definitions(self) -> Iterator[str]:
        """The paths of what questions may ask."""
        yield from (f"table/{name}" for name in self.tables)
        yield from (f"window/{name}" for name in self.windows)
        yield from (f"aggregation/{name}" for name in self.aggregations)

    def plan_of(self, plan: AppPlan) -> AppPlan:
        """The part of the plan that they are."""
        checked = plan.checked
        elsewhere = {
            name: plan.schemas[name] for name in checked.triggers if name not in self.triggers
        }
        return replace(
            plan,
            nodes=tuple(node for node in plan.nodes if node.name in self.nodes),
            checked=replace(
                checked,
                streams={**checked.streams, **elsewhere},
                tables=_some(checked.tables, self.tables),
                windows=_some(checked.windows, self.windows),
                aggregations=_some(checked.aggregations, self.aggregations),
                triggers=_some(checked.triggers, self.triggers),
            ),
        )


def _some(definitions: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in definitions.items() if name in names}


@dataclass(frozen=True, eq=False)
class Arrival:
    """A chunk on its way to one receiver of its stream: where the chunk stands, where in the
    stream its events are, and the clock."""

    stream: str
    receiver: int
    moment: int
    levels: Levels
    start: int
    end: int


class HostedQueries:
    """Runs its members on a reference engine of their own.

    `reads` and `writes` are streams and, of what is written, tables whose changes are outputs.
    `definitions`: the operators of the tables, named windows and aggregations among the members, by
    the path of each. They are there from the beginning, so a question looks at no instances.
    `shows_timers`: timers may make rows come out.
    """

    def __init__(
        self,
        plan: AppPlan,
        members: Members,
        *,
        observe: Observe,
        shared: Mapping[TableUnit, Sequence[str]] | None = None,
    ) -> None:
        """`shared`: tables that queries in columns write, under these names, and read."""
        part = members.plan_of(plan)
        ranks = ranks_of(plan)
        written = [*_written(part), *part.checked.triggers]
        buckets = part.checked.bucket_tables
        stored = [name for name in plan.stored if name in members.tables or name in buckets]
        self.name = f"hosted: {', '.join(owners_of(part))}"
        self.members = members
        self.writes = tuple(dict.fromkeys(name for name in [*written, *stored]))
        schemas = plan.checked.schemas
        self._records = {name: Records(schemas[name].types) for name in self.writes}
        self._engine = HostedEngine(part, ranks, self._records, observe=observe)
        self.shared = [
            SharedTable(unit, writers, self._engine) for unit, writers in (shared or {}).items()
        ]
        self._written = {name: table for table in self.shared for name in table.writers}
        self.writes = tuple(dict.fromkeys((*self.writes, *(each.name for each in self.shared))))
        models = (model for node in part.nodes for model in models_of(node))
        tables = (f"table/{name}" for name in members.tables)
        self._owners = frozenset((*owners_of(part), *tables, *models))
        self.definitions: dict[str, dict[str, Stateful]] = {
            path: {} for path in members.definitions()
        }
        for path, operator in self._engine.operators.items():
            if owner_of(path) in self.definitions:
                self.definitions[owner_of(path)][path] = operator
        read = [name for name in self._engine.receivers if name not in members.windows]
        self.reads = (*read, *self._written)
        self.shows_timers = any(map(keeps_time, part.nodes)) or bool(
            part.checked.triggers or part.checked.windows or buckets
        )
        self._start_ms: int | None = None

    # --- folding ---------------------------------------------------------------------------------

    def start(self, clock_ms: int) -> None:
        self._start_ms = clock_ms

    def is_due(self, found: Slice) -> bool:
        """Whether the slice concerns it without anything that it reads."""
        if self._start_ms is not None:
            return True
        wall = self._engine.due_on(wall=True)
        if wall is not None and wall <= found.walls.last:
            return True
        if not self._engine.is_playback:
            return False
        due = self._engine.due_on(wall=False)
        return due is not None and due <= found.moves.last

    def run(self, streams: Mapping[str, Chunks], found: Slice) -> dict[str, Output]:
        """What it wrote, by name; `streams` are those of `reads` that something came on."""
        engine = self._engine
        events = {name: _events(chunks) for name, chunks in streams.items()}
        waiting = deque(self._arrivals(streams))

        def brought(levels: Levels) -> None:
            while waiting and (waiting[0].moment, waiting[0].levels) < (START, levels):
                self._take(waiting.popleft(), events)

        with ExitStack() as noting:
            for table in self.shared:
                noting.enter_context(table.noting())
            if self._start_ms is not None:
                engine.start(self._start_ms, brought)
                self._start_ms = None
            moving = Moving(engine, found.moves)
            for each in waiting:
                moving.to(each.moment, each.levels)
                self._take(each, events)
            moving.to_the_end()
        for table in self.shared:
            table.follow()
        return {name: records.take() for name, records in self._records.items() if len(records)}

    def _take(self, arrival: Arrival, events: Mapping[str, list[StreamEvent]]) -> None:
        chunk = events[arrival.stream][arrival.start : arrival.end]
        at = (arrival.moment, arrival.levels)
        written = self._written.get(arrival.stream)
        if written is None:
            self._engine.arrive(arrival.stream, arrival.receiver, at, chunk)
        else:
            written.write(arrival.stream, at, chunk)

    def _arrivals(self, streams: Mapping[str, Chunks]) -> Iterator[Arrival]:
        """Every chunk for every receiver, in order."""
        receivers = [
            (name, number, chunks, chunks.order.below(rank))
            for name, chunks in streams.items()
            for number, rank in enumerate(self._engine.receivers.get(name, ()))
        ]
        receivers += [
            (name, 0, chunks, chunks.order)
            for name, chunks in streams.items()
            if name in self._written
        ]
        orders = [order for *_, order in receivers]
        if not orders:
            return
        levels = [places_of(chunks.order) for _, _, chunks, _ in receivers]
        owner = np.repeat(np.arange(len(orders)), [len(order) for order in orders]).tolist()
        within = [number for order in orders for number in range(len(order))]
        moments = [order.moments.tolist() for order in orders]
        starts = [chunks.starts.tolist() for _, _, chunks, _ in receivers]
        for index in merged(orders).tolist():
            own, at = owner[index], within[index]
            name, number = receivers[own][:2]
            span = starts[own][at], starts[own][at + 1]
            yield Arrival(name, number, moments[own][at], levels[own][at], *span)

    def take_rows(self) -> dict[str, int]:
        """How many rows each query gave since the last call."""
        taken = dict(self._engine.query_rows)
        self._engine.query_rows.clear()
        return taken

    def take_observed(self) -> list[Observed]:
        """What was observed since the last call, with its places."""
        engine = self._engine
        taken, engine.observed = engine.observed, None if engine.observed is None else []
        return taken or []

    def next_due_ms(self) -> int | None:
        """The wall time at which a tick is due."""
        return self._engine.next_due_ms()

    # --- state -----------------------------------------------------------------------------------

    def store(self, states: States) -> None:
        """Adds its state in the reference's form, which is its own."""
        engine = self._engine
        paths = {id(operator): path for path, operator in engine.operators.items()}
        for path, operator in engine.operators.items():
            if path not in _APP_WIDE:
                states.operators[path] = operator.snapshot()
        states.timers += [each for each in engine.pending(paths) if each.path not in _APP_WIDE]

    def store_of(self, owner: str, states: States) -> None:
        """The same of one table, named window or aggregation alone, without timers."""
        for path, operator in self.definitions[owner].items():
            states.operators[path] = operator.snapshot()

    def load(self, states: States) -> None:
        engine = self._engine
        for path, saved in states.operators.items():
            if owner_of(path) in self._owners:
                # What a columnar operator packed comes as lists here.
                engine.operators[path].restore(state.decode(state.encode(saved)))
        own = [timer for timer in states.timers if owner_of(timer.path) in self._owners]
        engine.refill(own)
        for table in self.shared:
            table.load(states)

    def settle(self) -> None:
        """The slice is done."""
        for table in self.shared:
            table.settle()

    def text_columns(self) -> list[Any]:
        """The texts that it holds in columns."""
        return [column for table in self.shared for column in table.text_columns()]


def _written(plan: AppPlan) -> Iterator[str]:
    names = plan.checked.streams
    for node in plan.nodes:
        for name in node.written:
            if name in names:
                yield name


def _events(chunks: Chunks) -> list[StreamEvent]:
    columns = [column.to_pylist() for column in chunks.columns]
    rows: Any = zip(*columns, strict=True) if columns else [()] * len(chunks)
    return list(map(StreamEvent, chunks.times.tolist(), rows))
