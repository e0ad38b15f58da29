"""One query from input to action (grammar 7), in an app or inside a partition."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedInput,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.checking.actions import check_insert, check_rate, check_table_write
from lockstep.siddhiql.checking.annotations import check_distribution
from lockstep.siddhiql.checking.joins import check_join
from lockstep.siddhiql.checking.patterns import check_pattern
from lockstep.siddhiql.checking.selection import CheckedSelection, check_selection
from lockstep.siddhiql.checking.streams import check_stream, names_of, stream_scope
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import positioned


def sources_of(query_input: ast.Input) -> list[tuple[str, ast.Location]]:
    """The names an input reads, each with its place."""
    match query_input:
        case ast.StreamInput():
            return [(query_input.source, query_input.at)]
        case ast.JoinInput(left=left, right=right):
            return [(left.source, left.at), (right.source, right.at)]
        case ast.StateInput(element=element):
            return _state_sources(element)
        case ast.AnonymousInput():
            raise positioned(
                query_input.at,
                "queries inside 'from' cannot be executed",
                "write the inner query on its own: … insert into Inner; from Inner …",
            )


def _state_sources(element: ast.StateElement) -> list[tuple[str, ast.Location]]:
    match element:
        case ast.StreamState(stream=stream) | ast.AbsentState(stream=stream):
            return [(stream.source, stream.at)]
        case ast.CountState(state=state) | ast.EveryState(state=state):
            return _state_sources(state)
        case ast.LogicalState(left=left, right=right):
            return _state_sources(left) + _state_sources(right)
        case ast.ChainState(elements=elements):
            return [source for part in elements for source in _state_sources(part)]


def check_query(
    query: ast.Query, name: str, symbols: Symbols, inner: dict[str, StreamSchema] | None = None
) -> CheckedQuery:
    """The query with everything resolved; what it writes to comes into being."""
    check_distribution(query.annotations)
    checked_input, scope = _check_input(query.input, symbols, inner)
    sees_input = not isinstance(checked_input, CheckedStream)
    chosen = check_selection(query.selector, scope, symbols, sees_input=sees_input)
    check_rate(query)
    target = getattr(query.action, "target", "")
    output = StreamSchema(target, chosen.attributes)
    action, kind, action_scope = _check_action(query, output, symbols, inner)
    made = replace(query, input=checked_input.input, selector=chosen.selector, action=action)
    return CheckedQuery(
        name,
        made,
        checked_input,
        chosen.selection,
        scope,
        _named(chosen, output),
        output,
        kind,
        action_scope,
        chosen.uses_aggregators,
    )


def _named(chosen: CheckedSelection, output: StreamSchema) -> Scope:
    return replace(chosen.having_scope, outputs=output)


def _check_input(
    query_input: ast.Input, symbols: Symbols, inner: dict[str, StreamSchema] | None
) -> tuple[CheckedInput, Scope]:
    match query_input:
        case ast.StreamInput():
            stream = check_stream(query_input, symbols, inner)
            if stream.kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
                raise positioned(
                    query_input.at,
                    f"a query cannot read the {stream.kind.value} {query_input.source!r} alone",
                    "join a stream with it, or ask it with an on-demand query",
                )
            return stream, stream_scope(symbols, stream.schema, *names_of(query_input))
        case ast.JoinInput():
            join: CheckedJoin = check_join(query_input, symbols, inner)
            return join, join.scope
        case ast.StateInput():
            pattern: CheckedPattern = check_pattern(query_input, symbols, inner)
            return pattern, pattern.scope
        case ast.AnonymousInput():
            sources_of(query_input)
            raise AssertionError("refused above")


def _check_action(
    query: ast.Query,
    output: StreamSchema,
    symbols: Symbols,
    inner: dict[str, StreamSchema] | None,
) -> tuple[ast.Action, SourceKind, Scope | None]:
    action = query.action
    match action:
        case ast.InsertInto():
            return action, check_insert(action, output, symbols, inner), None
        case ast.ReturnEvents():
            raise positioned(
                action.at, "'return' cannot end a query here", "write 'insert into Stream'"
            )
        case _:
            made, scope = check_table_write(action, output, (), symbols)
            return made, SourceKind.TABLE, scope
