"""Joins (grammar 8.2, semantics 9, 17.3): sides, aliases, `on`, `within … per`."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedStream, SourceKind
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.checking.ranges import check_range
from lockstep.siddhiql.checking.streams import check_stream, names_of
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.typing import positioned

_STORES = (SourceKind.TABLE, SourceKind.AGGREGATION, SourceKind.WINDOW)
_SILENT = (SourceKind.TABLE, SourceKind.AGGREGATION)
_RANKINGS = frozenset(f"{end}K{by}Batch" for end in ("top", "bottom") for by in ("Length", "Time"))
"""Functions of `extrema:` that joins of Siddhi find without a window."""


def check_join(
    join: ast.JoinInput, symbols: Symbols, inner: dict[str, StreamSchema] | None
) -> CheckedJoin:
    """Both sides, then the conditions in the scope of both."""
    left = check_stream(join.left, symbols, inner)
    right = check_stream(join.right, symbols, inner)
    _check_sides(join, left, right)
    scope = symbols.scope(Shape.JOINED, _side(join.left, left), _side(join.right, right))
    on = None
    if join.on is not None:
        on = condition(join.on, scope, "'on'")
    made = replace(
        join, left=left.input, right=right.input, on=on, range=_range(join, left, right, scope)
    )
    return CheckedJoin(made, left, right, scope)


def _side(stream: ast.StreamInput, checked: CheckedStream) -> Source:
    return Source(checked.schema, names_of(stream))


def _check_sides(join: ast.JoinInput, left: CheckedStream, right: CheckedStream) -> None:
    if left.kind in _SILENT and right.kind in _SILENT:
        raise positioned(
            join.at,
            f"a {left.kind.value} cannot be joined with a {right.kind.value}: "
            "nothing would trigger",
            "join a stream with it",
        )
    for side, marked in ((left, ast.JoinTrigger.LEFT), (right, ast.JoinTrigger.RIGHT)):
        if side.kind in _SILENT and join.trigger is marked:
            raise positioned(
                side.input.at,
                f"a {side.kind.value} cannot be 'unidirectional': it never triggers",
                "mark the stream's side, or none",
            )
    for side in (left, right):
        for handler in side.input.handlers:
            if side.kind in _STORES and isinstance(handler, ast.StreamFunction):
                raise positioned(
                    handler.at,
                    f"a {side.kind.value} in a join takes no stream functions",
                    "use functions in 'select', or put a query in front",
                )
    if right.kind not in _SILENT and join.trigger is not ast.JoinTrigger.LEFT:
        _check_found(left)
    if left.kind not in _SILENT and join.trigger is not ast.JoinTrigger.RIGHT:
        _check_found(right)
    if names_of(join.left) == names_of(join.right):
        name = names_of(join.left)[0]
        raise positioned(
            join.right.at,
            f"both sides of the join are called {name!r}",
            f"give each an alias: {name} as a join {name} as b",
        )


def _check_found(side: CheckedStream) -> None:
    """Refuses a side that the other one looks for, where Siddhi finds it and nothing is here."""
    if any(isinstance(handler, ast.WindowHandler) for handler in side.input.handlers):
        return
    for handler in side.input.handlers:
        if not isinstance(handler, ast.StreamFunction):
            continue
        call = handler.call
        if call.namespace == "extrema" and call.name in _RANKINGS:
            raise positioned(
                handler.at,
                f"the lists of extrema:{call.name} are not found by the other side of a join",
                "insert them into a stream, and join that with #window.length(1); or mark this"
                " side 'unidirectional'",
            )


def _range(
    join: ast.JoinInput, left: CheckedStream, right: CheckedStream, scope: Scope
) -> ast.Range | None:
    aggregation = next((s for s in (left, right) if s.kind is SourceKind.AGGREGATION), None)
    if aggregation is None:
        if join.range is not None:
            raise positioned(
                join.range.at, "'within … per' is for joins with an aggregation", "remove it"
            )
        return None
    if join.range is None:
        raise positioned(
            aggregation.input.at,
            f"a join with the aggregation {aggregation.input.source!r} needs 'within' and 'per'",
            "add: within '2020-**-** **:**:**' per 'hours'",
        )
    return check_range(join.range, scope)
