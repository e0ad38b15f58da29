"""Which kind of snapshot a query's rate is: its window, aggregators and `group by` tell (semantics
14.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from lockstep.siddhiql import ast
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
class Kind:
    """What is shown, and which attributes show their latest values in every row."""

    shows: Shows
    aggregated: tuple[bool, ...]


def kind_of(query: CheckedQuery) -> Kind:
    """That of a query whose rate is a snapshot."""
    functions = query.scope.functions
    aggregated = tuple(
        any(True for _ in aggregator_calls(item.expression, functions)) for item in query.selection
    )
    if not _is_windowed(query):
        return Kind(Shows.LAST, aggregated)
    if any(aggregated) and query.query.selector.group_by:
        return Kind(Shows.GROUPS, aggregated)
    if aggregated and all(aggregated):
        return Kind(Shows.NEWEST, aggregated)
    return Kind(Shows.CONTENT, aggregated)


def _is_windowed(query: CheckedQuery) -> bool:
    match query.input:
        case CheckedStream():
            return _has_window(query.input)
        case CheckedJoin(left=left, right=right):
            return _has_window(left) or _has_window(right)
    return False


def _has_window(stream: CheckedStream) -> bool:
    if stream.kind is SourceKind.WINDOW:
        return True
    return any(isinstance(checked.handler, ast.WindowHandler) for checked in stream.handlers)
