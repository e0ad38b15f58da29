"""Runs an on-demand query on the present content of a store (semantics 11).

What is found is one chunk for the selector; nothing found gives no row, also under aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lockstep.aggregations.meaning import FoundInAggregation
from lockstep.events import LockstepError, describe
from lockstep.execute.reference.context import OnDemandContext
from lockstep.execute.reference.engine import Engine
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS, EventError
from lockstep.operators.limits import LimitError
from lockstep.selection.meaning import Selector
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedOnDemand, CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.typing import positioned
from lockstep.tables.meaning import Match, make_action

Row = tuple[Any, ...]


def read(checked: CheckedOnDemand, engine: Engine) -> list[Row]:
    """The rows of a find; the state stays as it is.

    Raises EventError for values that do not fit or go over a limit, SiddhiQLError for a range that
    makes no sense and for a query that writes.
    """
    if checked.is_write:
        what = "this query changes a table, so it has to go through the input log"
        raise positioned(checked.query.at, what, "hand it in as a write")
    with _as_event_errors():
        return [row.data for row in _rows(checked, OnDemandContext(engine, "on-demand"))]


def write(checked: CheckedOnDemand, engine: Engine, *, place: str) -> int:
    """Acts on the query's table, row by row; how many rows it changed. When one fails, none is.

    `place` names the write among all of the app: what is drawn (`UUID()`) follows from it. Raises
    EventError for values that do not fit, SiddhiQLError for a query that only reads.
    """
    query, context = checked.query, OnDemandContext(engine, place)
    if not checked.is_write or query.action is None:
        raise positioned(query.at, "this query changes nothing", "ask it as a question")
    rows = _rows(checked, context)
    table = context.table(checked.output.name)
    action = make_action(
        query.action, checked.output, checked.action_scope, table, context, may_index=False
    )
    with table.all_or_nothing():
        return sum(action.apply(row) for row in rows)


def select(checked: CheckedOnDemand, found: list[StreamEvent], engine: Engine) -> list[Row]:
    """What the query selects of events that were found elsewhere. EventError."""
    if not found:
        return []
    with _as_event_errors():
        return [row.data for row in _select(checked, found, OnDemandContext(engine, "on-demand"))]


@contextmanager
def _as_event_errors() -> Iterator[None]:
    """What values can cause is the question's fault, and harms nobody who shares the process."""
    try:
        yield
    except LockstepError:
        raise
    except (LimitError, *PROCESSING_ERRORS) as error:
        raise EventError(describe(error)) from error


def matching(checked: CheckedOnDemand, engine: Engine) -> Match:
    """Which of the source's events the query's `on` lets through."""
    return Match(checked.query.on, checked.scope, 0, OnDemandContext(engine, "on-demand"))


def _rows(checked: CheckedOnDemand, context: OnDemandContext) -> list[StreamEvent]:
    """What a query found and selected; the one row of values of a query without a source."""
    if checked.query.source is None:
        found = [StreamEvent(context.now_ms(), ())]
    else:
        found = _find(checked, context)
    return _select(checked, found, context) if found else []


def _find(checked: CheckedOnDemand, context: OnDemandContext) -> list[StreamEvent]:
    query = checked.query
    assert query.source is not None
    if checked.kind is SourceKind.STREAM:
        raise positioned(
            query.at,
            f"{query.source!r} keeps no events: its archive is asked, which a running suite has",
            "`lockstep query` asks it",
        )
    match = Match(query.on, checked.scope, 0, context)
    if checked.kind is SourceKind.TABLE:
        found: list[StreamEvent] = (
            context.table(query.source).finder(match, may_index=False).find(None)
        )
        return found
    if checked.kind is SourceKind.AGGREGATION:
        assert query.range is not None
        aggregation = context.aggregation(query.source)
        reader = FoundInAggregation(aggregation, query.range, checked.scope, match, [], context)
        return reader.find(None)
    return match.rows(None, context.window(query.source).content())


def _select(
    checked: CheckedOnDemand, found: list[StreamEvent], context: OnDemandContext
) -> list[StreamEvent]:
    if not checked.selection:
        return found
    selector = Selector(_as_query(checked), context)
    rows: list[StreamEvent] = []
    take: Callable[[list[StreamEvent]], None] = rows.extend
    selector.emit = take
    selector.process(found)
    return rows


def _as_query(checked: CheckedOnDemand) -> CheckedQuery:
    """The find as the query that the selector knows: one stream, current events, no rate."""
    source = ast.StreamInput(checked.query.source or "")
    schema = checked.scope.sources[0].schema
    return CheckedQuery(
        name="on-demand",
        query=ast.Query(source, checked.query.selector, ast.ReturnEvents()),
        input=CheckedStream(source, checked.kind or SourceKind.STREAM, schema, (), schema),
        selection=checked.selection,
        scope=checked.scope,
        having_scope=checked.having_scope,
        output=checked.output,
        target_kind=SourceKind.STREAM,
        action_scope=None,
        uses_aggregators=checked.uses_aggregators,
    )
