"""Which kind of snapshot a query's rate is: its window, aggregators and `group by` tell (semantics
14.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol, runtime_checkable

from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.typing import aggregator_calls


class Shows(Enum):
    """What is shown at each tick."""

    LAST = auto()
    """The last row of each group, for ever."""
    NEWEST = auto()
    """The same, until the last event is one that left."""
    CONTENT = auto()
    """A row for each event in the window."""
    GROUPS = auto()
    """A row for each group that has events in the window."""


@dataclass(frozen=True, slots=True)
class Inside:
    """How rows come and leave, other than what leaves takes the oldest of its likeness out.

    `early`: what leaves may stand in front of what it is of. `key`: the attributes of an event of
    which only the latest is inside; None if all are.
    """

    early: bool = False
    key: tuple[int, ...] | None = None


ONE_BY_ONE: Final = Inside()


@dataclass(frozen=True, slots=True)
class Kind:
    """What is shown, which attributes show their latest values in every row, and of a window's
    content how it comes and leaves."""

    shows: Shows
    aggregated: tuple[bool, ...]
    inside: Inside = ONE_BY_ONE


@runtime_checkable
class ShownOtherwise(Protocol):
    """What a window declares that is shown otherwise than others (windows/shown.py)."""

    @property
    def passes_on(self) -> bool:
        """What comes out of it is not inside any more, and never expires."""

    @property
    def leaves_early(self) -> bool:
        """An event may leave in front of itself."""

    @property
    def latest_of_key(self) -> bool:
        """An event takes the place of the one before of its key, which does not expire."""


def kind_of(query: CheckedQuery) -> Kind:
    """That of a query whose rate is a snapshot."""
    functions = query.scope.functions
    aggregated = tuple(
        any(True for _ in aggregator_calls(item.expression, functions)) for item in query.selection
    )
    if not _shows_content(query):
        return Kind(Shows.LAST, aggregated)
    if any(aggregated) and query.query.selector.group_by:
        return Kind(Shows.GROUPS, aggregated, _inside(query))
    if aggregated and all(aggregated):
        return Kind(Shows.NEWEST, aggregated)
    return Kind(Shows.CONTENT, aggregated, _inside(query))


def _streams(query: CheckedQuery) -> tuple[CheckedStream, ...]:
    match query.input:
        case CheckedStream():
            return (query.input,)
        case CheckedJoin(left=left, right=right):
            return (left, right)
    return ()


def _windows(stream: CheckedStream) -> Iterator[tuple[int, ast.FunctionCall]]:
    """The windows among the handlers of a stream, each with its place."""
    for place, checked in enumerate(stream.handlers):
        if isinstance(checked.handler, ast.WindowHandler):
            yield place, checked.handler.call


def _otherwise(call: ast.FunctionCall) -> ShownOtherwise | None:
    declared = declared_window(call)
    return declared if isinstance(declared, ShownOtherwise) else None


def _shows_content(query: CheckedQuery) -> bool:
    """Whether there is a window out of which rows leave again."""
    for stream in _streams(query):
        if stream.kind is SourceKind.WINDOW:
            return True
        for _, call in _windows(stream):
            otherwise = _otherwise(call)
            if otherwise is None or not otherwise.passes_on:
                return True
    return False


def _inside(query: CheckedQuery) -> Inside:
    early, key = False, None
    for stream in _streams(query):
        for place, call in _windows(stream):
            otherwise = _otherwise(call)
            if otherwise is None:
                continue
            early = early or otherwise.leaves_early
            if otherwise.latest_of_key and stream is query.input:
                key = _key(stream, place, call)
    return Inside(early, key)


def _key(stream: CheckedStream, place: int, call: ast.FunctionCall) -> tuple[int, ...] | None:
    """Those that the window is called with, or all that it sees. None where an event may have
    several rows behind it: a row does not tell then which one it takes the place of."""
    checked, *behind = stream.handlers[place:]
    if any(isinstance(each.handler, ast.StreamFunction) for each in behind):
        return None
    named = [each for each in call.arguments if isinstance(each, ast.Variable)]
    if not named:
        return tuple(range(len(checked.schema.attributes)))
    return tuple(checked.scope.resolve(each).attribute for each in named)
