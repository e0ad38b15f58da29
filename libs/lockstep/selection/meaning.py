"""The selector: rows out of events, by chunk (semantics 4 and 5).

No aggregator and no group by: a row per event. An aggregator without group by: the last wanted
event of the chunk. Group by: the last wanted event of each group, groups in order of first
appearance.

An event that cannot be processed keeps no other one of its chunk out of the aggregators or in them:
the chunk goes on to its end, and then it fails (semantics 18).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lockstep.aggregators.contract import growing
from lockstep.aggregators.registry import aggregators
from lockstep.aggregators.rows import compile_output_condition, compile_selection
from lockstep.expressions.compiler import compile_key
from lockstep.operators.contract import (
    CURRENT,
    EXPIRED,
    RESET,
    Context,
    Emit,
    PlainState,
    StreamEvent,
    nowhere,
)
from lockstep.operators.errors import PROCESSING_ERRORS, LeavingError
from lockstep.operators.failing import PartsFailedError
from lockstep.plan.fleet.keys import is_pure
from lockstep.selection.ordering_meaning import Ordering
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern, CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.trees import below


class Row(StreamEvent):
    """An output row with its group's key and the event it came from, for rate limiters."""

    key: Any = None
    origin: Any = None


class Gone(Row):
    """A row that leaves, and that cannot be computed any more. Its values are all null."""


ALL_KINDS = -1


class Torn(list[Any]):
    """What is left of a chunk, or of the chunks of a step, of which an event failed before: it goes
    into the aggregators and out of them, and brings no rows."""

    def __init__(self, events: Sequence[Any], error: BaseException) -> None:
        super().__init__(events)
        # Whoever is behind raises it again, chunk by chunk: a traceback would grow, and keep all
        # frames alive.
        self.error = error.with_traceback(None)


def error_in(chunk: list[Any]) -> BaseException | None:
    """What an event of the chunk failed of before."""
    return chunk.error if isinstance(chunk, Torn) else None


def first_of(
    known: BaseException | None, event: Any, error: BaseException, *, tells_leaving: bool
) -> BaseException | None:
    """What the chunk fails of, so far. An event that leaves counts only where its failure is news:
    others have been told of when they came."""
    is_news = tells_leaving or event.kind == CURRENT or isinstance(error, LeavingError)
    return error if known is None and is_news else known


def wanted_kind(action: ast.Action, is_snapshot: bool) -> int:
    """CURRENT, EXPIRED or ALL_KINDS, as the action asks."""
    if is_snapshot or action.events is ast.EventSelection.ALL:
        return ALL_KINDS
    return EXPIRED if action.events is ast.EventSelection.EXPIRED else CURRENT


def passes_through(query: CheckedQuery) -> bool:
    """Whether the rows are the events' data as they are (`select *`)."""
    if not isinstance(query.input, CheckedStream):
        return False
    references = [item.expression for item in query.selection]
    if len(references) != len(query.input.schema.attributes):
        return False
    return all(
        isinstance(reference, ast.Variable) and query.scope.resolve(reference).attribute == index
        for index, reference in enumerate(references)
    )


def only_grows(query: CheckedQuery) -> bool:
    """Whether no event ever leaves: a stream of its own without a window (semantics 6)."""
    stream = query.input
    if not isinstance(stream, CheckedStream) or stream.kind is SourceKind.WINDOW:
        return False
    return not any(isinstance(checked.handler, ast.WindowHandler) for checked in stream.handlers)


def _brings_news(query: CheckedQuery, context: Context) -> bool:
    """Whether the row of an event that leaves may fail where it did not when the event came:
    unless all of it goes by the event alone, or is the plain value of an aggregator."""
    if not isinstance(query.input, CheckedStream) or query.query.selector.having is not None:
        return True
    known = aggregators(is_siddhi_5_1=context.is_siddhi_5_1)

    def is_aggregator(one: Any) -> bool:
        return isinstance(one, ast.FunctionCall) and (one.namespace or "", one.name) in known

    for item in query.selection:
        tree: Any = item.expression
        # Those of the core fail of their arguments alone; others may refuse to let go.
        is_plain = is_aggregator(tree) and tree.namespace is None
        parts = tree.arguments if is_plain else (tree,)
        if not is_pure(parts) or any(map(is_aggregator, below(parts))):
            return True
    return False


class Selector:
    """Runs each event through select, having and the chunk rules; `emit` gets the chunk's rows."""

    def __init__(self, query: CheckedQuery, context: Context) -> None:
        selector, rate = query.query.selector, query.query.rate
        is_snapshot = rate is not None and rate.kind is ast.RateKind.SNAPSHOT
        self.emit: Emit = nowhere
        self._is_snapshot = is_snapshot
        self._wanted = wanted_kind(query.query.action, is_snapshot)
        self._tells_leaving = self._wanted != CURRENT and _brings_news(query, context)
        compiled = context.shared(compile_selection, query.selection, query.scope)
        self._select = compiled.function
        self._unknown = (None,) * len(query.selection)
        self._makers = list(compiled.makers)
        self._having: Callable[[Any, tuple[Any, ...], list[Any]], bool] | None = None
        if selector.having is not None:
            self._having, makers = context.shared(
                compile_output_condition,
                selector.having,
                query.having_scope,
                first_aggregator=len(self._makers),
            )
            self._makers += makers
        if only_grows(query):
            self._makers = [growing(make) for make in self._makers]
        self._key = (
            context.shared(compile_key, selector.group_by, query.scope)
            if selector.group_by
            else None
        )
        self._ordering = Ordering(selector, query.having_scope, context)
        # Every match of a pattern is a chunk of its own, also where several leave together.
        self._is_by_match = isinstance(query.input, CheckedPattern)
        self._keeps_origin = rate is not None
        # Rows that know where they came from are for rate limiters, order by, and tables, which say
        # whose row they refuse. Nobody else keeps them, or a window downstream would hold on to
        # everything upstream.
        self._is_for_table = query.target_kind is SourceKind.TABLE
        self._carries = self._keeps_origin or self._ordering.is_active or self._is_for_table
        self._groups: dict[Any, list[Any]] = {}
        self._alone: list[Any] = [make() for make in self._makers]
        self.process: Emit = self._choose(query)
        self._tells_empty = self._key is None and not self._makers and rate is None
        context.register("selector", self)

    def _choose(self, query: CheckedQuery) -> Emit:
        if self._key is not None or self._makers:
            return self._each if self._is_snapshot or self._is_by_match else self._last
        plain = self._having is None and not self._ordering.is_active and not self._keeps_origin
        if plain and passes_through(query):
            return self._pass
        return self._plain if plain else self._each

    def process_each(self, chunks: list[list[Any]]) -> None:
        """Chunks that were made in one step: each by the chunk rules, their rows as one chunk.

        Without aggregator and group by, a RESET that brings no row is told to listeners as a chunk
        without rows (semantics 9: an inner join without match).
        """
        emit = self.emit
        rows: list[Any] = []
        failed: BaseException | None = None
        self.emit = rows.extend
        try:
            for chunk in chunks:
                try:
                    self.process(chunk)
                except PROCESSING_ERRORS as error:
                    failed = failed or error
        finally:
            self.emit = emit
        if failed is not None and not self._is_snapshot:
            raise failed
        if rows or (self._tells_empty and any(chunk[0].kind == RESET for chunk in chunks)):
            emit(rows)
        if failed is not None:
            raise failed

    # --- no aggregator, no group by --------------------------------------------------------------

    def _pass(self, chunk: list[StreamEvent]) -> None:
        wanted = self._wanted
        if isinstance(chunk, Torn):
            raise chunk.error
        if wanted == ALL_KINDS:
            rows = [event for event in chunk if event.kind <= EXPIRED]
        else:
            rows = [event for event in chunk if event.kind == wanted]
        if rows:
            self.emit(rows)

    def _plain(self, chunk: list[Any]) -> None:
        wanted, select, none = self._wanted, self._select, self._alone
        if isinstance(chunk, Torn):
            raise chunk.error
        if wanted == ALL_KINDS:
            rows = [
                StreamEvent(event.timestamp_ms, select(event, none), event.kind)
                for event in chunk
                if event.kind <= EXPIRED
            ]
        else:
            rows = [
                StreamEvent(event.timestamp_ms, select(event, none), wanted)
                for event in chunk
                if event.kind == wanted
            ]
        if not rows:
            return
        try:
            self.emit(rows)
        except PartsFailedError as some:
            kinds = (CURRENT, EXPIRED) if wanted == ALL_KINDS else (wanted,)
            raise some.brought_by(rows, [event for event in chunk if event.kind in kinds]) from some

    # --- the others ------------------------------------------------------------------------------

    def _each(self, chunk: list[Any]) -> None:
        """A row per event, with having, ordering, and the running aggregates of snapshot rates.

        A snapshot is a state: it takes the rows of a chunk of which an event fails, too.
        """
        rows: list[Any] = []
        try:
            # What stands in front of an error stays in the list.
            rows.extend(self._made(*row) for row in self._rows(chunk))
        except PROCESSING_ERRORS:
            if self._is_snapshot:
                self._finish(rows)
            raise
        self._finish(rows)

    def _last(self, chunk: list[Any]) -> None:
        """A row per group, of its last event; without group by all are one group."""
        wanted = self._wanted
        last: dict[Any, tuple[Any, tuple[Any, ...] | None, Any]] = {}
        for row in self._rows(chunk):
            if wanted == ALL_KINDS or row[0].kind == wanted:
                last[row[2]] = row
        if last:
            self._finish([self._made(*row) for row in last.values()])

    def _rows(self, chunk: list[Any]) -> Iterator[tuple[Any, tuple[Any, ...] | None, Any]]:
        """Each event that gets a row, with its data and the key of its group; None without group
        by. All go into the aggregators and out of them; what one fails of is raised behind them.

        A snapshot hears also of what leaves and fails, without data: it must not stay for ever.
        """
        failed, key_of, key = error_in(chunk), self._key, None
        for event in chunk:
            if event.kind > EXPIRED:
                self._reset(event)
                continue
            try:
                if key_of is None:
                    data = self._row(event, self._alone)
                else:
                    key = key_of(event)
                    data = self._group_row(event, key)
            except PROCESSING_ERRORS as error:
                failed = first_of(failed, event, error, tells_leaving=self._tells_leaving)
                if self._is_snapshot and event.kind == EXPIRED:
                    yield event, None, key
                continue
            if data is not None:
                yield event, data, key
        if failed is not None:
            raise failed

    def _group_row(self, event: Any, key: Any) -> tuple[Any, ...] | None:
        group = self._groups.get(key)
        if group is None:
            group = [make() for make in self._makers]
            if group:
                self._groups[key] = group
        try:
            return self._row(event, group)
        finally:
            # Also behind a current event: it may have left already (semantics 7.14), or failed.
            if group and group[0].is_empty() and all(a.is_empty() for a in group):
                del self._groups[key]

    def _row(self, event: Any, group: list[Any]) -> tuple[Any, ...] | None:
        """The event's row, or None when having refuses it."""
        data = self._select(event, group)
        if self._having is not None and not self._having(event, data, group):
            return None
        return data

    def _reset(self, event: Any) -> None:
        if event.kind != RESET:
            return
        for aggregator in self._alone:
            aggregator.reset()
        for group in self._groups.values():
            for aggregator in group:
                aggregator.reset()
        self._groups = {
            key: group
            for key, group in self._groups.items()
            if not all(aggregator.is_empty() for aggregator in group)
        }

    def _made(self, event: Any, data: tuple[Any, ...] | None, key: Any) -> StreamEvent:
        if data is None:
            return Gone(event.timestamp_ms, self._unknown, event.kind, key, event)
        if self._carries:
            return Row(event.timestamp_ms, data, event.kind, key, event)
        return StreamEvent(event.timestamp_ms, data, event.kind)

    def _finish(self, rows: list[Any]) -> None:
        wanted = self._wanted
        if wanted != ALL_KINDS:
            rows = [row for row in rows if row.kind == wanted]
        if self._ordering.is_active and rows:
            parts = [[row] for row in rows] if self._is_by_match else [rows]
            rows = [row for part in parts for row in self._ordering.arrange(part)]
            if not (self._keeps_origin or self._is_for_table):
                rows = [StreamEvent(row.timestamp_ms, row.data, row.kind) for row in rows]
        if rows:
            self.emit(rows)

    def snapshot(self) -> PlainState:
        """The aggregators' states: of the whole, and by group in order of creation."""
        return (
            [aggregator.snapshot() for aggregator in self._alone],
            [(key, [a.snapshot() for a in group]) for key, group in self._groups.items()],
        )

    def restore(self, state: PlainState) -> None:
        alone, groups = state
        self._alone[:] = _restored(self._makers, alone)
        self._groups = {key: _restored(self._makers, states) for key, states in groups}


def _restored(makers: list[Any], states: list[PlainState]) -> list[Any]:
    group = [make() for make in makers]
    for aggregator, saved in zip(group, states, strict=True):
        aggregator.restore(saved)
    return group
