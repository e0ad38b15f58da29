"""A feed made ready: the rows of a set-up, fitted to the attributes of their stream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from lockstep.clock import Randomness, SeededRandomness
from lockstep.simulating.errors import SimulationError
from lockstep.simulating.pacing import Even, Schedule, Timed
from lockstep.simulating.rules import Rule, rule_of
from lockstep.simulating.setups import Bounds, DatabaseRows, FeedSetup
from lockstep.simulating.values import Columns, Rows, csv_table, fitted, in_order, time_ms

TIMESTAMP: Final = "_timestamp"
Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a database gave."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


Fetch = Callable[[DatabaseRows, int], Awaitable[Found]]
"""Asks a datasource for at most so many rows. Errors: LockstepError."""
T = TypeVar("T")


class Aside(Protocol):
    """Where work is done that takes long: `asyncio.to_thread`, or `at_once` where everything has
    to happen in one order."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """The result of the work."""


async def at_once(work: Callable[[], T], /) -> T:
    """In the caller's turn of the loop, which waits for it."""
    return work()


class Drawn:
    """Events at random, without an end."""

    count: int | None = None
    batch_characters = 65_536
    """To draw them takes long, so there are fewer in a batch than of texts that are there."""

    def __init__(self, rules: Sequence[Rule], names: Sequence[str], randomness: Randomness) -> None:
        self._rules = rules
        self._names = names
        self._randomness = randomness

    def event(self, number: int) -> Event:
        """To be asked for in order, once each."""
        values = (rule(number, self._randomness) for rule in self._rules)
        return dict(zip(self._names, values, strict=True))


class Listed:
    """Rows that are there, over and over."""

    batch_characters = 1_000_000
    """As a receiver takes it, also where JSON needs several bytes for each."""

    def __init__(self, rows: Rows, names: Sequence[str], times_ms: Sequence[int] | None) -> None:
        self._rows = rows
        self._names = names
        self._times_ms = times_ms
        self.count: int | None = len(rows)

    def event(self, number: int) -> Event:
        """Of its row; with the time of the row where times are kept."""
        place = number % len(self._rows)
        event = dict(zip(self._names, self._rows[place], strict=True))
        if self._times_ms is not None:
            event[TIMESTAMP] = self._times_ms[place]
        return event


@dataclass(frozen=True, slots=True)
class Feed:
    """What goes into a stream, when, and how many events in all (`total`; None: no end)."""

    stream: str
    source: Drawn | Listed
    schedule: Schedule
    total: int | None

    def batch(self, first: int, most: int) -> list[Event]:
        """The events from that number on: one at least, then so many that they can go together."""
        events = list[Event]()
        left = self.source.batch_characters
        while len(events) < most and left > 0:
            events.append(self.source.event(first + len(events)))
            left -= _characters(events[-1])
        return events


async def feed_of(
    setup: FeedSetup,
    columns: Columns,
    randomness: Randomness,
    fetch: Fetch,
    bounds: Bounds,
    aside: Aside = asyncio.to_thread,
) -> Feed:
    """SimulationError for rules and rows that do not fit the stream; what `fetch` raises. `aside`:
    where rules are tried and rows are read, which may be a hundred thousand."""
    names = [name for name, _ in columns]
    if setup.random is not None:
        rules = await aside(lambda: _rules(setup, columns))
        return _feed(setup, Drawn(rules, names, randomness), Even(setup.rate_per_s))
    found = None if setup.database is None else await fetch(setup.database, bounds.max_rows)
    return await aside(lambda: _listed(setup, columns, found, bounds))


def _listed(setup: FeedSetup, columns: Columns, found: Found | None, bounds: Bounds) -> Feed:
    names = [name for name, _ in columns]
    rows, times = _rows(setup, columns, found, bounds)
    if not rows:
        raise SimulationError("there is no row to send", where=setup.stream)
    source = Listed(rows, names, times if setup.keep_times else None)
    if setup.speed is not None and times is not None:
        return _feed(setup, source, Timed(times, setup.speed))
    return _feed(setup, source, Even(setup.rate_per_s))


def _feed(setup: FeedSetup, source: Drawn | Listed, schedule: Schedule) -> Feed:
    ends = [setup.limit_events]
    if source.count is not None and setup.repeat:
        ends.append(source.count * setup.repeat)
    if setup.for_ms is not None:
        ends.append(schedule.due_before(setup.for_ms))
    return Feed(
        setup.stream, source, schedule, min((e for e in ends if e is not None), default=None)
    )


def _rules(setup: FeedSetup, columns: Columns) -> list[Rule]:
    given = dict(setup.random or {})
    rules = []
    for name, kind in columns:
        try:
            rules.append(rule_of(given.pop(name, None), name, kind))
            rules[-1](0, SeededRandomness(0))  # one that never fits is told before anything runs
        except SimulationError as error:
            raise _within(setup.stream, error) from None
    if given:
        raise SimulationError(
            f"has no attribute {', '.join(given)}", where=setup.stream,
            hint=", ".join(name for name, _ in columns),
        )  # fmt: skip
    return rules


def _rows(
    setup: FeedSetup, columns: Columns, found: Found | None, bounds: Bounds
) -> tuple[Rows, list[int] | None]:
    try:
        if found is None:
            return csv_table(
                setup.csv or "", columns, max_rows=bounds.max_rows, time_column=setup.time_column
            )
        return _fitted(found, columns, setup.time_column)
    except SimulationError as error:
        raise _within(setup.stream, error) from None


def _fitted(found: Found, columns: Columns, time_column: str) -> tuple[Rows, list[int] | None]:
    wanted = [*(name for name, _ in columns), *([time_column] if time_column else [])]
    there = {name.lower(): at for at, name in reversed(list(enumerate(found.columns)))}
    missing = [name for name in wanted if name.lower() not in there]
    if missing:
        raise SimulationError(
            f"the rows have no column {', '.join(missing)}",
            hint=f"they have {', '.join(found.columns)}; a select can name them otherwise",
        )
    places = [(there[name.lower()], name, kind) for name, kind in columns]
    rows = [[fitted(row[at], name, kind) for at, name, kind in places] for row in found.rows]
    if not time_column:
        return rows, None
    at_time = there[time_column.lower()]
    return in_order(rows, [time_ms(row[at_time], time_column) for row in found.rows])


def _characters(event: Event) -> int:
    """About, as JSON has it."""
    return sum(
        len(name) + len(value if isinstance(value, str) else repr(value)) + 6
        for name, value in event.items()
    )


def _within(stream: str, error: SimulationError) -> SimulationError:
    where = stream if error.where is None else f"{stream}: {error.where}"
    return SimulationError(error.message, where=where, hint=error.hint)
