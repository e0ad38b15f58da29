"""VirtualApp: an app in process on a virtual clock, on any executor.

It writes what it is told into a log of its own and folds that, so a test sees what a cluster would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Protocol

from lockstep.events import (
    Event,
    EventsRecord,
    InputEvent,
    InputRecord,
    InvalidEventError,
    LogEntry,
    TickRecord,
    WriteRecord,
)
from lockstep.execute.contract import EventFault, SliceResult, WriteProblem
from lockstep.execute.observe import Observation, StreamChunk
from lockstep.execute.reference.rehearsal import rehearse
from lockstep.operators.errors import EventError
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.siddhiql import SiddhiQLError, check_on_demand
from lockstep.testing.opening import open_executor, open_fleet
from lockstep.testing.rows import coerce_row
from lockstep.testing.transport import MemoryTransport

KEPT: Final = 64
"""Of how many texts the plan is remembered."""


class Switchable(Protocol):
    """An executor whose playback can be switched while the app runs."""

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Turns event time on or off."""


@dataclass
class QueryOutput:
    """What a query put out so far; `chunks` pairs the current and the expired events of each
    chunk.
    """

    current: list[Event] = field(default_factory=list)
    expired: list[Event] = field(default_factory=list)
    chunks: list[tuple[list[Event], list[Event]]] = field(default_factory=list)

    def add(self, current: Sequence[Event], expired: Sequence[Event]) -> None:
        """Appends a chunk."""
        self.current += current
        self.expired += expired
        self.chunks.append((list(current), list(expired)))


class Record:
    """Everything that was seen of an app: chunks in order, by stream and by query, and faults."""

    def __init__(self, plan: AppPlan) -> None:
        self.observations: list[Observation] = []
        self.streams: dict[str, list[list[Event]]] = {}
        self.queries: dict[str, QueryOutput] = {}
        self.faults: list[EventFault] = []
        self.transport = MemoryTransport(plan)

    def add_all(self, observations: Sequence[Observation]) -> None:
        """Files observations; sinks of their streams publish."""
        self.observations += observations
        for seen in observations:
            if isinstance(seen, StreamChunk):
                self.streams.setdefault(seen.stream, []).append(list(seen.events))
                self.transport.carried(seen.stream, seen.events)
            else:
                output = self.queries.setdefault(seen.query, QueryOutput())
                output.add(seen.current, seen.expired)


@lru_cache(KEPT)
def rehearsed(app_text: str) -> AppPlan:
    """The plan of an app that can be started; SiddhiQLError. The latest are remembered: tests open
    the same app again and again."""
    plan = plan_of(app_text)
    rehearse(plan)
    return plan


@lru_cache(KEPT)
def cut_into(app_text: str, parallel: int) -> FleetPlan:
    """How the same app is cut into partitions; likewise."""
    return fleet_of(rehearsed(app_text), parallel)


class VirtualApp:
    """An app on a virtual clock that starts at `start_ms`. Raises SiddhiQLError for an invalid
    app.

    `executor`: 'reference' defines the language; 'columnar' is what Spark's workers run, in this
    process and without a JVM; 'spark' is the product's engine. All bring the same.
    `snapshot`: the state to go on from, instead of starting anew (see `restore`).
    `parallel`: cut into so many partitions, where the planner can (see `fleet`): rows of one key
    come as on one node, those of several keys in one send may change places.
    """

    def __init__(
        self,
        app_text: str,
        *,
        executor: str = "reference",
        start_ms: int = 0,
        snapshot: bytes | None = None,
        parallel: int = 1,
    ) -> None:
        self._plan = rehearsed(app_text)
        self._fleet = cut_into(app_text, parallel) if parallel > 1 else None
        if self._fleet is None or self._fleet.is_single:
            self._executor = open_executor(executor, self._plan, start_ms)
        else:
            self._executor = open_fleet(executor, self._fleet, start_ms)
        self._clock_ms = start_ms
        # When a tick is due; at once, until the executor has said.
        self._due_ms: int | None = start_ms
        self._log: list[LogEntry] = []
        self._record = Record(self._plan)
        self._query_names = {node.name for node in self._plan.nodes if hasattr(node, "query")}
        if snapshot is None:
            self._fold(TickRecord(start_ms))
        else:
            self._executor.restore(snapshot)

    @property
    def plan(self) -> AppPlan:
        """The app's plan."""
        return self._plan

    @property
    def fleet(self) -> FleetPlan | None:
        """How it is cut; None where it was not asked to be."""
        return self._fleet

    @property
    def clock_ms(self) -> int:
        """The virtual clock."""
        return self._clock_ms

    @property
    def log(self) -> list[LogEntry]:
        """What it has folded so far; not to be changed."""
        return self._log

    @property
    def observations(self) -> list[Observation]:
        """Every chunk of every stream and query so far, in order; not to be changed."""
        return self._record.observations

    # --- input ---------------------------------------------------------------------------------

    def send(self, stream: str, data: Sequence[Any], *, timestamp_ms: int | None = None) -> None:
        """Sends one event, at the clock or at its own time."""
        self.send_many(stream, [data], timestamp_ms=timestamp_ms)

    def send_many(
        self,
        stream: str,
        rows: Sequence[Sequence[Any]],
        *,
        timestamp_ms: int | Sequence[int] | None = None,
    ) -> None:
        """Sends events that arrive together (one chunk); `timestamp_ms` may be one time per row."""
        if stream not in self._plan.checked.streams:
            raise LookupError(f"there is no stream {stream!r}")
        if not rows:
            return
        schema = self._plan.checked.streams[stream]
        if timestamp_ms is None or isinstance(timestamp_ms, int):
            times = [self._clock_ms if timestamp_ms is None else timestamp_ms] * len(rows)
        else:
            times = list(timestamp_ms)
        chunk = tuple(
            InputEvent(time, coerce_row(schema, row)) for time, row in zip(times, rows, strict=True)
        )
        record = EventsRecord(
            stream, self._clock_ms, (chunk,), has_timestamps=timestamp_ms is not None
        )
        self._fold(record)

    def advance(self, milliseconds: int) -> None:
        """Moves the clock; timers fire on the way. By 0 ms only what is due already fires."""
        self._clock_ms += milliseconds
        if milliseconds or (self._due_ms is not None and self._due_ms <= self._clock_ms):
            self._fold(TickRecord(self._clock_ms))

    def enable_playback(
        self, on: bool, *, idle_ms: int | None = None, increment_ms: int | None = None
    ) -> None:
        """Switches between event time and live time while the app runs."""
        executor: Any = self._executor
        if not hasattr(executor, "enable_playback"):
            raise InvalidEventError(
                "this executor takes its clock from the app's text alone",
                hint="write @app:playback, or use the reference executor",
            )
        switchable: Switchable = executor
        switchable.enable_playback(on, idle_ms, increment_ms)
        self._due_ms = self._clock_ms

    def _fold(self, record: InputRecord) -> SliceResult:
        self._log.append(LogEntry(self._executor.position + 1, record))
        result = self._executor.run_slice(self._log[-1:])
        self._due_ms = result.next_due_ms
        self._record.faults += result.faults
        self._record.add_all(self._executor.take_observations())
        return result

    # --- output --------------------------------------------------------------------------------

    def stream(self, name: str) -> list[Event]:
        """Everything that the stream has carried so far."""
        return [event for chunk in self.stream_chunks(name) for event in chunk]

    def stream_chunks(self, name: str) -> list[list[Event]]:
        """The same, chunk by chunk."""
        checked = self._plan.checked
        if not any(name in known for known in (checked.streams, checked.triggers, checked.windows)):
            raise LookupError(f"there is no stream {name!r}")
        return [list(chunk) for chunk in self._record.streams.get(name, ())]

    def query(self, name: str) -> QueryOutput:
        """What the query of that name (`@info(name='…')`) has put out so far."""
        if name not in self._query_names:
            raise LookupError(f"there is no query {name!r}")
        return self._record.queries.setdefault(name, QueryOutput())

    def faults(self) -> list[EventFault]:
        """The events that were dropped because a query could not process them."""
        return list(self._record.faults)

    def publish(self, topic: str, payload: Any) -> list[str]:
        """Hands a message to the app's in-memory sources of that topic; what they refused of it."""
        refused: list[str] = []
        for source in self._record.transport.sources:
            if source.topic == topic:
                before = len(source.refused)
                for chunk in source.read(payload, self._clock_ms):
                    times = [event.timestamp_ms for event in chunk]
                    rows = [event.data for event in chunk]
                    self.send_many(source.stream, rows, timestamp_ms=times)
                refused += [str(error) for error in source.refused[before:]]
        return refused

    def topics(self) -> list[str]:
        """The topics that the app's in-memory sources listen to."""
        return list(dict.fromkeys(source.topic for source in self._record.transport.sources))

    def published(self) -> list[tuple[str, Any]]:
        """What the app's in-memory sinks have published so far: (topic, payload)."""
        return list(self._record.transport.published)

    def on_demand(self, query_text: str) -> list[tuple[Any, ...]]:
        """Runs an on-demand query on the present state; one that writes gives no rows.

        Raises SiddhiQLError, and EventError for values that do not fit.
        """
        if not check_on_demand(query_text, self._plan.checked).is_write:
            return self._executor.on_demand(query_text)
        self.write(query_text, request_id=f"position {self._executor.position + 1}")
        return []

    def write(self, query_text: str, *, request_id: str) -> int:
        """Runs an on-demand query that writes; how many rows it changed.

        A request id that was used before changes nothing and gives its first answer again. Errors
        as for `on_demand`.
        """
        result = self._fold(WriteRecord(query_text, request_id, self._clock_ms))
        (outcome,) = result.writes
        if outcome.problem is not None:
            raise _error(outcome.problem)
        return outcome.rows_changed

    # --- state ---------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state, for `restore`."""
        return self._executor.snapshot()

    @classmethod
    def restore(
        cls,
        app_text: str,
        snapshot: bytes,
        *,
        executor: str = "reference",
        start_ms: int = 0,
        parallel: int = 1,
    ) -> VirtualApp:
        """The same app going on from a snapshot, with the clock at `start_ms`. A fleet's snapshot
        goes on in any number of partitions above one."""
        return cls(
            app_text, executor=executor, start_ms=start_ms, snapshot=snapshot, parallel=parallel
        )

    def close(self) -> None:
        """Gives resources back."""
        self._executor.close()

    def __enter__(self) -> VirtualApp:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _error(problem: WriteProblem) -> SiddhiQLError | EventError:
    if problem.line is None or problem.column is None:
        return EventError(problem.message, hint=problem.hint)
    return SiddhiQLError(
        problem.message, line=problem.line, column=problem.column, hint=problem.hint
    )
