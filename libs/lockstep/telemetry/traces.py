"""Traces from the door to the sinks: which sends are traced, and where their spans go.

A trace begins at the door. What follows bears its context in the header of a record, as W3C's
traceparent has it. A slice folds many records: its span is a child of the first that is traced,
and has links to the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Final, Protocol, Self

CARRIED: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\Z")
Attribute = str | int | float | bool

CURRENT: ContextVar[str] = ContextVar("lockstep_trace", default="")
"""The context of the work under way: log lines bear its ids."""


class Span(Protocol):
    """Some work within a trace; ends with its block. `carried`: for what follows from it."""

    @property
    def carried(self) -> str:
        """W3C's traceparent; empty when nobody traces this."""

    def __enter__(self) -> Self:
        """Log lines bear the trace's ids from now on."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """The work has ended, well or with an error."""


class Traces(Protocol):
    """Of one service."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """What begins at the door. `given`: the traceparent of who sent it, which decides."""

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """What follows from traced work; nothing is recorded when none of it is traced."""

    def close(self) -> None:
        """Sends what is left; blocking, at most 5 s."""


class _Carrying:
    """Records nothing, and hands a context on."""

    def __init__(self, carried: str = "") -> None:
        self.carried = carried

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Nothing has begun."""


SILENT: Final = _Carrying()


class NoTraces:
    """Where none are asked for."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Nothing."""
        return SILENT

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """Whoever is behind it may trace."""
        return _Carrying(carried[0]) if carried else SILENT

    def close(self) -> None:
        """Nothing is left."""


NO_TRACES: Final = NoTraces()


def current_trace() -> str:
    """W3C's traceparent of the recorded work under way, for whoever is called from within it; empty
    when there is none."""
    return CURRENT.get()


def ids_of(carried: str) -> tuple[str, str] | None:
    """(trace id, span id) of a traceparent; None when it is none."""
    found = CARRIED.match(carried)
    return None if found is None else (found[1], found[2])
