"""A fold of what was archived that stops at a moment: what came, what it gave, and what windows,
tables and patterns hold then. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader
from lockstep.events import Event, EventsRecord, WriteRecord
from lockstep.events.codec import EncodedEntry
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.observe import Observation, Observe, StreamChunk
from lockstep.history.backtest import Wanted, logs_of, span_of, tasks_of
from lockstep.history.errors import HistoryError
from lockstep.history.folding import BASE_BYTES, Task, begin, sieved_slices
from lockstep.history.gaps import check_gaps
from lockstep.operators.contract import JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.state import unseal
from lockstep.plan import AppPlan, PartitionNode, QueryNode, plan_of_deployed
from lockstep.settings import Settings

WATCHED_EVENTS: Final = 8_192
"""Folded at once where a query is watched: each of their chunks is an object."""
MAX_PARTS: Final = 200
"""Of a state are told; partitions have parts for each of their keys."""


@dataclass(frozen=True)
class Gave:
    """A row of the watched query or stream; `expired`: it left."""

    timestamp_ms: int
    values: Sequence[Any]
    expired: bool


@dataclass(frozen=True)
class Held:
    """What a part of the app holds. `events`: the last ones of a window or table, as many as asked
    for, of `count`; a table's rows have no time. `rest`: what is not a list of events, as plain
    values."""

    part: str
    count: int
    events: Sequence[tuple[int | None, Sequence[Any]]]
    rest: Any = None


@dataclass(frozen=True)
class Stopped:
    """The state behind `position`, whose record said `clock_ms`. `gave` is empty where no query was
    watched, or where it gave nothing up to the end of the span. `came`: the record that brought
    it."""

    app: str
    position: int
    clock_ms: int
    events: int
    came: Mapping[str, Any] | None
    gave: Sequence[Gave]
    state: Sequence[Held]
    more_parts: int


def stopped(
    wanted: Wanted, watch: str | None, place: Place, settings: Settings, *, rows: int
) -> Stopped:
    """At the end of the span that is wanted or, if that comes first, where the query or stream
    `watch` first has a row behind its beginning. Errors: HistoryError, SiddhiQLError,
    UnavailableError."""
    plan = plan_of_deployed(wanted.text)
    if watch is not None:
        _check(plan, watch)
    logs = logs_of(place, wanted.app or plan.name)
    reader = InputReader(place, logs)
    span, behind = span_of(wanted, plan, reader)
    if not wanted.despite_gaps:
        check_gaps(plan, reader, span, "--despite-gaps leaves out what is not there")
    (task,) = tasks_of(wanted, plan, place, logs, reader, settings, span, behind, "")
    course = _Course(begin(msgspec.msgpack.encode(task)), plan)
    if watch is not None:
        first = course.until_given(watch, behind)
        if first is not None:
            course = _Course(course.task, plan)
            course.until_given(watch, first - 1, singly=True)
    else:
        course.to_the_end()
    came = _said(course.entry) if course.gave else None
    clock_ms = 0 if course.entry is None else _clock_ms(course.entry)
    state = _state(course.executor, plan, watch, rows)
    return Stopped(
        logs.app, course.executor.position, clock_ms, course.events, came, course.gave,
        state[:MAX_PARTS], max(0, len(state) - MAX_PARTS),
    )  # fmt: skip


def _check(plan: AppPlan, watch: str) -> None:
    queries = {one.name for one in plan.nodes if isinstance(one, QueryNode)}
    if watch in queries or watch in _carriers(plan):
        return
    inner = [one for each in plan.nodes if isinstance(each, PartitionNode) for one in each.queries]
    written = [one.writes for one in inner if one.name == watch]
    if written:
        raise HistoryError(
            f"'{watch}' is a query of a partition, which has one for each key",
            hint=f"watch what it writes: {written[0]}",
        )
    names = ", ".join(sorted(queries | _carriers(plan)))
    raise HistoryError(f"the app has no query or stream '{watch}'", hint=f"it has {names}")


def _carriers(plan: AppPlan) -> set[str]:
    checked = plan.checked
    return {*checked.streams, *checked.windows, *checked.triggers}


class _Course:
    """A fold under way."""

    def __init__(self, task: Task, plan: AppPlan) -> None:
        self.task = task
        self._plan = plan
        self.executor = InProcessExecutor(
            plan, observe=Observe.OUTSIDE_PARTITIONS, base_bytes=BASE_BYTES
        )
        self.events = 0
        self.entry: EncodedEntry | None = None
        self.gave: Sequence[Gave] = ()

    def to_the_end(self) -> None:
        """Of the span."""
        self.executor = InProcessExecutor(
            self._plan, observe=Observe.NOTHING, base_bytes=BASE_BYTES
        )
        for sieved, _ in sieved_slices(self.task, self._plan):
            self._fold(sieved.entries)

    def until_given(self, watch: str, behind: int, *, singly: bool = False) -> int | None:
        """Until the query gives a row behind a position; from where on it can be. `singly`: behind
        that position record by record, so that it stops at the very one."""
        for sieved, _ in sieved_slices(self.task, self._plan, WATCHED_EVENTS):
            for entries in _pieces(sieved.entries, behind, singly=singly):
                self._fold(entries)
                seen = self.executor.take_observations()
                given = [row for one in seen for row in _rows(one, watch)]
                if given and entries[0].position > behind:
                    self.gave = given
                    return entries[0].position
        return None

    def _fold(self, entries: Sequence[EncodedEntry]) -> None:
        self.executor.run_encoded(entries)
        self.events += sum(getattr(one.header, "events", 0) for one in entries)
        self.entry = entries[-1]


def _pieces(
    entries: Sequence[EncodedEntry], behind: int, *, singly: bool
) -> Iterator[Sequence[EncodedEntry]]:
    first = next((at for at, one in enumerate(entries) if one.position > behind), len(entries))
    if first:
        yield entries[:first]
    if singly:
        yield from ([one] for one in entries[first:])
    elif first < len(entries):
        yield entries[first:]


def _rows(seen: Observation, watch: str) -> list[Gave]:
    def of(events: Sequence[Event], *, expired: bool) -> list[Gave]:
        return [Gave(one.timestamp_ms, one.data, expired) for one in events]

    if isinstance(seen, StreamChunk):
        return of(seen.events, expired=False) if seen.stream == watch else []
    if seen.query != watch:
        return []
    return of(seen.current, expired=False) + of(seen.expired, expired=True)


def _clock_ms(entry: EncodedEntry) -> int:
    return int(entry.header.clock_ms)


def _said(entry: EncodedEntry | None) -> Mapping[str, Any] | None:
    """A record in plain values."""
    if entry is None:
        return None
    record = entry.record()
    found: dict[str, Any] = {"position": entry.position, "clock_ms": _clock_ms(entry)}
    if isinstance(record, EventsRecord):
        events = [list(one.data) for chunk in record.chunks for one in chunk]
        return {**found, "stream": record.stream, "events": events}
    if isinstance(record, WriteRecord):
        return {**found, "write": record.text}
    return {**found, "timer": True}


def _state(executor: InProcessExecutor, plan: AppPlan, watch: str | None, rows: int) -> list[Held]:
    """What each part holds, in the order of the text; parts that hold nothing are left out, and
    those of other queries where one is watched."""
    queries = {one.name for one in plan.nodes if isinstance(one, QueryNode)}
    _, body = unseal(executor.snapshot())
    found = []
    for path, value in body["engine"]["operators"]:
        kind, name, *_ = f"{path}/".split("/")
        if kind == "playback" or (
            watch in queries and "query/" in path and f"query/{watch}/" not in path
        ):
            continue
        if kind == "table" and name in plan.checked.tables:
            held = executor.on_demand(f"from `{name}` select *")
            found.append(Held(path, len(held), [(None, one) for one in held[-rows:]]))
        elif isinstance(value, list) and all(isinstance(one, StreamEvent) for one in value):
            shown = [(one.timestamp_ms, one.data) for one in value[len(value) - rows :]]
            found.append(Held(path, len(value), shown))
        elif (rest := plain(value)) not in (None, [], [[], []]):
            found.append(Held(path, 0, (), rest))
    return [one for one in found if one.count or one.rest is not None]


def plain(value: Any) -> Any:
    """A state as values that JSON has: events with their time, sets in order, bytes as hex."""
    if isinstance(value, StreamEvent):
        return {"at_ms": value.timestamp_ms, "values": list(value.data)}
    if isinstance(value, JoinedEvent):
        sides = {"left": plain(value.left), "right": plain(value.right)}
        return {"at_ms": value.timestamp_ms, **sides}
    if isinstance(value, MatchedEvent):
        return {"at_ms": value.timestamp_ms, "slots": plain(value.slots)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value
