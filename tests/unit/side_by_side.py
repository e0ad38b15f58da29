"""Plays an app on the reference and in columns, and holds what they bring side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.columnar import ColumnarExecutor, lowering_of
from lockstep.execute.observe import Observation, Observe, StreamChunk
from lockstep.plan import AppPlan
from lockstep.testing import VirtualApp
from lockstep.testing.rows import coerce_row
from lockstep.testing.virtual_app import rehearsed

T = TypeVar("T")
Step = tuple[int, str, Sequence[Sequence[Any]]]
"""The clock, a stream, and the events that arrive on it together; without events the clock alone
moves."""

TICK = ""
"""The stream of a step without events."""


def rules(text: str) -> list[str | None]:
    """The columnar rule of each query; None where it stays on the reference."""
    return [choice.rule for choice in lowering_of(rehearsed(text)).choices]


def reasons(text: str) -> list[str]:
    """Why queries stay on the reference."""
    choices = lowering_of(rehearsed(text)).choices
    return [choice.reason or "" for choice in choices if choice.rule is None]


def unit_of(text: str, kind: type[T]) -> T:
    """The only part of the app of that kind, before anything came."""
    (found,) = (unit for unit in lowering_of(rehearsed(text)).units if isinstance(unit, kind))
    return found


def played(text: str, *steps: Step, rule: str, stream: str = "O") -> list[list[tuple[Any, ...]]]:
    """The chunks of values that `stream` carried: the same on the reference, in columns step by
    step, with a snapshot and a restore behind each step, and as one slice.

    All queries must run in columns, one by `rule`, or the comparison would show nothing.
    """
    found = rules(text)
    assert rule in found
    assert None not in found
    expected = stepped(text, steps, "reference", restored=False)
    shown = list(map(repr, expected))  # tells zeros and types apart, and NaN is equal to itself
    assert list(map(repr, stepped(text, steps, "columnar", restored=False))) == shown
    assert list(map(repr, stepped(text, steps, "columnar", restored=True))) == shown
    assert list(map(repr, in_one_slice(rehearsed(text), steps))) == shown
    return [
        [event.data for event in seen.events]
        for seen in expected
        if isinstance(seen, StreamChunk) and seen.stream == stream
    ]


def stepped(
    text: str, steps: Sequence[Step], executor: str, *, restored: bool
) -> list[Observation]:
    """What an app lets be seen, step by step; `restored`: over a snapshot behind each."""
    seen: list[Observation] = []
    app = VirtualApp(text, executor=executor)
    for clock_ms, stream, rows in steps:
        app.advance(clock_ms - app.clock_ms)
        if rows:
            app.send_many(stream, rows)
        if restored:
            seen += app.observations
            app = VirtualApp.restore(text, app.snapshot(), executor=executor, start_ms=clock_ms)
    assert not app.faults()
    return seen + app.observations


def entries_of(plan: AppPlan, steps: Sequence[Step]) -> list[LogEntry]:
    """The steps as a log."""
    log = [LogEntry(1, TickRecord(0))]
    for clock_ms, stream, rows in steps:
        log.append(LogEntry(len(log) + 1, TickRecord(clock_ms)))
        if rows:
            schema = plan.checked.streams[stream]
            chunk = tuple(InputEvent(clock_ms, coerce_row(schema, row)) for row in rows)
            log.append(LogEntry(len(log) + 1, EventsRecord(stream, clock_ms, (chunk,))))
    return log


def in_one_slice(plan: AppPlan, steps: Sequence[Step]) -> list[Observation]:
    """What an app in columns lets be seen of all steps at once."""
    executor = ColumnarExecutor(plan, start_ms=0, observe=Observe.OUTSIDE_PARTITIONS)
    executor.run_slice(entries_of(plan, steps))
    return list(executor.take_observations())
