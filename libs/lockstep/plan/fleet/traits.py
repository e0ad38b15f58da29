"""How a query or a partition can be cut: by which keys, by any, or not at all and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lockstep.plan.fleet.contract import COUNTS_TOKENIZERS, Together
from lockstep.plan.fleet.keys import both, is_pure, plain, remembers
from lockstep.plan.nodes import AppPlan, PartitionNode, PlanNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.windows import Reach, Timers, WindowExtension
from lockstep.siddhiql.checked import (
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import find_extension, is_aggregator

Key = ast.Expression


@dataclass(frozen=True)
class Whole:
    """It stays in one place."""

    because: str


@dataclass(frozen=True)
class Free:
    """It treats each event of one stream by itself. `selected`: its rows' attributes by what is
    read (None: not said by that alone). `where`: what it lets pass; `is_said`: all of that."""

    source: str
    selected: Mapping[str, ast.Expression | None]
    where: ast.Expression | None
    is_said: bool


@dataclass(frozen=True)
class Keyed:
    """Rows of different keys have nothing to do with each other.

    `keys`: of each stream that is read by key; `broadcast`: streams that go to all keys. `carries`:
    by what is written, expressions on its rows that are the key. `wraps`: it becomes a partition.
    `together`: what of a send it must see as one; None: it makes no difference.
    """

    keys: Mapping[str, Key]
    carries: Mapping[str, tuple[Key, ...]]
    wraps: bool
    together: Together | None
    broadcast: tuple[str, ...] = ()
    passes_sends: bool = field(default=False)
    """It puts out as one what was sent together, over all keys."""
    joins_sends: bool = field(default=False)
    """The same, but each row stands where the event stood that brought it."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """The tables that it uses, each with the attribute of its rows that is the key."""

    @property
    def counts_nulls(self) -> bool:
        """Events whose key is null have a place, too."""
        return self.wraps or (bool(self.tables) and self.together is Together.KEYS)


Trait = Whole | Free | tuple[Keyed, ...]

ONE_FOR_ONE: Final = frozenset({(None, "pol2Cart"), (None, "log")})
"""Stream functions that give a row for each event."""

NEUTRAL_FUNCTIONS: Final = ONE_FOR_ONE | frozenset(
    {
        ("str", "tokenize"),
        ("json", "tokenize"),
        ("json", "tokenizeAsObject"),
        ("list", "tokenize"),
        ("map", "tokenize"),
    }
)
"""Stream functions that remember nothing. A tokenizer may leave out an event."""


def streams_of(query: CheckedQuery) -> tuple[CheckedStream, ...]:
    """What a query reads, a stream for each place."""
    match query.input:
        case CheckedStream():
            return (query.input,)
        case CheckedJoin():
            return query.input.left, query.input.right
        case CheckedPattern():
            return tuple(state.stream for state in query.input.states)


def window_of(stream: CheckedStream) -> ast.FunctionCall | None:
    """The window behind a stream."""
    for handler in stream.input.handlers:
        if isinstance(handler, ast.WindowHandler):
            return handler.call
    return None


def wants_expired(query: CheckedQuery) -> bool:
    """Whether its rows are also those of what leaves."""
    return query.query.action.events in (ast.EventSelection.EXPIRED, ast.EventSelection.ALL)


def declared(call: ast.FunctionCall) -> WindowExtension:
    """What a window declares; of one that declares nothing, what is right for any."""
    found = find_extension(call.name, call.namespace, ExtensionKind.WINDOW)
    if not isinstance(found, WindowExtension):
        return WindowExtension(call.name, ())
    return found.called_with(len(call.arguments))


def shared_state(query: CheckedQuery) -> str | None:
    """What a query has in common with others besides streams, if anything, for people."""
    kinds = {
        SourceKind.TABLE: "the table",
        SourceKind.WINDOW: "the named window",
        SourceKind.AGGREGATION: "the aggregation",
        SourceKind.TRIGGER: "the trigger",
        SourceKind.FAULT: "the fault stream",
    }
    for stream in streams_of(query):
        if stream.kind in kinds:
            return f"it reads {kinds[stream.kind]} '{stream.input.source}', which has no key"
    if query.target_kind in kinds:
        return f"it writes {kinds[query.target_kind]} '{query.output.name}', which has no key"
    for one in below(query.query):
        if isinstance(one, ast.InTable):
            return f"it reads the table '{one.table}', which has no key"
    return None


def shows_timers(query: CheckedQuery) -> bool:
    """Whether some of its rows come because time passed, and not because an event came."""
    rate = query.query.rate
    if rate is not None and rate.every_ms is not None and rate.kind is not ast.RateKind.FIRST:
        return True
    if any(stream.kind in (SourceKind.TRIGGER, SourceKind.WINDOW) for stream in streams_of(query)):
        return True
    if any(isinstance(one, ast.AbsentState) and one.for_ms for one in below(query.query.input)):
        return True
    return any(
        _window_shows_timers(query, stream) for stream in streams_of(query)
    ) or _has_functions(query)


def _window_shows_timers(query: CheckedQuery, stream: CheckedStream) -> bool:
    call = window_of(stream)
    if call is None:
        return False
    found = declared(call)
    if found.timers is Timers.SEEN_WITH_EXPIRED or found.key_argument is not None:
        return wants_expired(query)
    return found.timers is not Timers.NONE


def _has_functions(query: CheckedQuery) -> bool:
    """Whether stream functions stand in it that may remember something."""
    return any(
        isinstance(one, ast.StreamFunction)
        and (one.call.namespace, one.call.name) not in NEUTRAL_FUNCTIONS
        for one in below(query.query.input)
    )


def holds_rows_back(query: CheckedQuery, *, is_playback: bool) -> bool:
    """Whether some of its rows may come behind rows with later times: those of batches, of what a
    function or a rate keeps for a while, and of windows that do not slide. In playback, where the
    events of a send have times of their own, also a send's rows by group."""
    rate = query.query.rate
    if is_playback and query.query.selector.group_by:
        return True
    if rate is not None and rate.kind is not ast.RateKind.FIRST:
        return True
    for stream in streams_of(query):
        call = window_of(stream)
        if stream.kind is SourceKind.WINDOW or (call is not None and declared(call).reach is None):
            return True
    return _has_functions(query)


def node_shows_timers(node: PlanNode) -> bool:
    """The same of a query or a partition."""
    return any(shows_timers(one.query) for one in queries_in(node))


def has_timers(node: PlanNode) -> bool:
    """Whether time alone changes what it holds."""
    return node_shows_timers(node) or any(
        window_of(stream) is not None
        for one in queries_in(node)
        for stream in streams_of(one.query)
    )


def queries_in(node: PlanNode) -> tuple[QueryNode, ...]:
    """The query that it is, or those of a partition."""
    return (node,) if isinstance(node, QueryNode) else node.queries


def hears_time(plan: AppPlan) -> bool:
    """Whether it makes a difference at which moments the clock moves, beside those of the events
    and rows that the app gets. Else its timers only let go of what nobody sees any more, and that
    is done as well when the next event comes."""
    checked = plan.checked
    if checked.triggers or checked.windows or checked.aggregations or checked.external:
        return True
    tables = [table.annotations for table in checked.tables.values()]
    partitions = [
        node.partition.partition.annotations
        for node in plan.nodes
        if isinstance(node, PartitionNode)
    ]
    # A store or @purge looks at times of its own.
    said = {one.name.lower() for some in (*tables, *partitions) for one in some}
    if said & {"store", "purge"}:
        return True
    return any(_hears_time(one.query) for node in plan.nodes for one in queries_in(node))


def _hears_time(query: CheckedQuery) -> bool:
    rate = query.query.rate
    if shows_timers(query) or (rate is not None and rate.every_ms is not None):
        return True
    calls = [call for one in streams_of(query) if (call := window_of(one)) is not None]
    timed = [one for call in calls if (one := declared(call)).timers is not Timers.NONE]
    if timed and isinstance(query.input, CheckedJoin) and query.uses_aggregators:
        return True  # what leaves one side meets what is still in the other one
    return not all(one.reach is Reach.CLOCK for one in timed)


def counts_sends(query: CheckedQuery) -> bool:
    """Whether its rows depend on what was sent together."""
    selector = query.query.selector
    if isinstance(query.input, CheckedPattern):
        return False
    windows = [call for one in streams_of(query) if (call := window_of(one)) is not None]
    if not all(declared(call).reach in (Reach.CLOCK, Reach.EVENTS) for call in windows):
        return True
    if isinstance(query.input, CheckedJoin):
        return query.input.left.input.source == query.input.right.input.source
    return bool(query.uses_aggregators or selector.group_by or cuts_rows(selector))


def cuts_rows(selector: ast.Selector) -> bool:
    """Whether it looks at all rows of a send together."""
    return bool(selector.order_by or selector.limit or selector.offset)


def neutral_handlers(stream: CheckedStream, checked: CheckedApp) -> str | None:
    """Why a stream's filters and functions remember something, if they do."""
    functions = {name: one.returns for name, one in checked.functions.items()}
    for handler in stream.input.handlers:
        if isinstance(handler, ast.StreamFunction):
            call = handler.call
            if (call.namespace, call.name) not in NEUTRAL_FUNCTIONS:
                return f"#{call.name} remembers events of all keys"
        if isinstance(handler, ast.Filter) and any(
            isinstance(one, ast.FunctionCall) and is_aggregator(one, functions)
            for one in below(handler.condition)
        ):
            return "its filter adds up over all keys"
    return None


def free_of(query: CheckedQuery, stream: CheckedStream, rules: int) -> Free:
    """A query that remembers nothing, by the rules of that number (contract.RULES)."""
    known = set(stream.source_schema.names)
    selected: dict[str, ast.Expression | None] = {}
    for name, item in zip(query.output.names, query.selection, strict=True):
        expression = plain(item.expression)
        selected[name] = expression if _says(expression, known) else None
    where: ast.Expression | None = None
    is_said = True
    conditions = [h.condition for h in stream.input.handlers if isinstance(h, ast.Filter)]
    if query.query.selector.having is not None:
        is_said = False
    if rules >= COUNTS_TOKENIZERS and _may_leave_out(stream):
        is_said = False
    for condition in map(plain, conditions):
        is_said = is_said and _says(condition, known)
        where = both(where, condition)
    return Free(stream.input.source, selected, where if is_said else None, is_said)


def _may_leave_out(stream: CheckedStream) -> bool:
    """Whether its functions, and not its filters alone, decide which events bring rows."""
    return any(
        isinstance(one, ast.StreamFunction)
        and (one.call.namespace, one.call.name) not in ONE_FOR_ONE
        for one in stream.input.handlers
    )


def _says(expression: ast.Expression, known: set[str]) -> bool:
    return is_pure(expression) and all(
        one.name in known for one in below(expression) if isinstance(one, ast.Variable)
    )


def selected_of(query: CheckedQuery) -> Iterator[tuple[str, ast.Expression]]:
    """The names of its rows with what they are computed from."""
    for name, item in zip(query.output.names, query.selection, strict=True):
        yield name, item.expression


def has_memory(query: CheckedQuery) -> bool:
    """Whether it calls UUID() or the like."""
    return remembers(query.query) or remembers(query.selection)
