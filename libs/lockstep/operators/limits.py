"""Limits against poison: events that would take a whole node.

They count rows and steps, never time, so every replica of an app comes to the same verdict
at the same event. Whoever counts raises LimitError; the executor undoes what the event did and
leaves it out (execute.undoing). The limits of a process are set once, when it starts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

CHECK_FROM: Final = 65_536
"""No limit on the size of a value can be smaller, so small values are never looked at."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`event_rows`: what one event may bring to a stream or out of a join (see `allowed`).
    `feedback_depth`: how often a stream may feed itself within one event. `function_steps`: turns
    of loops and calls in one run of a user's function. `value_size`: characters of a text, elements
    of a collection. `group_rows`: what an aggregator or a pattern collects in one group.
    `function_bytes`: memory of one run of a function in JavaScript."""

    event_rows: int = 1_000_000
    feedback_depth: int = 100
    function_steps: int = 200_000
    value_size: int = 4_000_000
    group_rows: int = 1_000_000
    function_bytes: int = 64 * 1024 * 1024


class LimitError(Exception):
    """An event goes over a limit. It is no error that a stream contains (errors.PROCESSING_ERRORS):
    the event is undone as a whole."""


class _Process:
    """What holds in this process."""

    limits = Limits()


def limits() -> Limits:
    """The limits of this process."""
    return _Process.limits


def put_in_force(found: Limits) -> None:
    """From now on these are the limits of this process."""
    _Process.limits = found


@contextmanager
def in_force(found: Limits) -> Iterator[None]:
    """These limits for a while, in a test."""
    before = _Process.limits
    _Process.limits = found
    try:
        yield
    finally:
        _Process.limits = before


EACH_OF_CHUNK: Final = 100
"""Rows that each further event of a chunk may bring, beside those that an event may bring."""

TIMER_TIMES: Final = 100
"""A timer may bring so many times the rows of an event: it lets go what many events brought."""


def allowed(events: int) -> int:
    """How many rows a chunk of so many events may bring to a place; a timer (0)."""
    most = _Process.limits.event_rows
    return most + EACH_OF_CHUNK * (events - 1) if events else most * TIMER_TIMES


class Meter:
    """Counts what an engine does. `step` is another number for each chunk of the log and each timer
    that fires: what is counted begins anew then."""

    __slots__ = ("_events", "step")

    def __init__(self) -> None:
        self.step = 0
        self._events = 0

    def next(self, events: int) -> None:
        """Another chunk of so many events; another timer (0)."""
        self.step += 1
        self._events = events

    def allowed(self) -> int:
        """The rows that this step may bring to each place."""
        return allowed(self._events)


class RowCount:
    """The rows of one place (a stream or a join) within a step. `depth`: how many of its chunks are
    under way, one within the other; whoever lets chunks of a stream through keeps it."""

    __slots__ = ("_meter", "_place", "_rows", "_step", "depth")

    def __init__(self, meter: Meter, place: str) -> None:
        self._meter = meter
        self._place = place
        self._step = -1
        self._rows = 0
        self.depth = 0

    def add(self, rows: int) -> None:
        """So many more rows. LimitError."""
        step = self._meter.step
        if self._step == step:
            rows += self._rows
        self._step, self._rows = step, rows
        if rows > _Process.limits.event_rows and rows > self._meter.allowed():
            raise too_many_rows(self._place)
        if self.depth and self.depth >= _Process.limits.feedback_depth:
            raise too_deep(self._place)


RECURSION_MIN: Final = 6_000
"""Python calls deep. A stream that feeds itself takes about ten for each time and query."""


def deepen_recursion() -> None:
    """Lets a stream feed itself as often as the limit says."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_MIN))


def too_many_rows(place: str) -> LimitError:
    """What is said of an event that brings too many rows to a place."""
    return LimitError(
        f"one event brings more rows to {place} than it may "
        f"(limits.event_rows = {_Process.limits.event_rows})"
    )


def too_deep(place: str) -> LimitError:
    """What is said of an event that feeds a stream from itself without end."""
    most = _Process.limits.feedback_depth
    return LimitError(
        f"{place} feeds itself more than {most} times within one event (limits.feedback_depth), "
        "or through too many queries"
    )


def check_size(size: int, what: str) -> None:
    """A value of so many characters or elements is made. LimitError."""
    if size > CHECK_FROM and size > _Process.limits.value_size:
        raise LimitError(
            f"{what} makes a value of {size} characters or elements, "
            f"over limits.value_size = {_Process.limits.value_size}"
        )


def check_group(rows: int, what: str) -> None:
    """A group holds so many rows. LimitError."""
    if rows > _Process.limits.group_rows:
        raise LimitError(
            f"{what} holds {rows} rows in one group, "
            f"over limits.group_rows = {_Process.limits.group_rows}"
        )
