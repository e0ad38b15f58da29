"""The parts of an app that keep state by themselves, and what their states hang on.

A part is a query, a partition with all its queries, a table, a named window, an aggregation, a
model or a trigger. Its state hangs on the attributes of what it reads, and on its windows,
patterns, aggregates and rate. It does not hang on conditions on what comes in, nor on what is
selected where nothing is aggregated, unless these call functions. It hangs on conditions behind a
window, and of joins, where rows are added up: they are taken off by the condition by which they
were added. A function that the app defines is as it is defined: with another body it is another
one. It does not hang on where rows are stored beside it, nor on how long they are kept. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from lockstep.plan.nodes import AppPlan, PartitionNode, QueryNode
from lockstep.plan.paths import model_path, name_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.models import ModelUse
from lockstep.siddhiql.checked import (
    CheckedAggregation,
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.checking.annotations import info_name
from lockstep.siddhiql.models import models_in
from lockstep.siddhiql.syntax.parser import parse
from lockstep.siddhiql.trees import below

Written = TypeVar("Written", ast.Query, ast.Partition)

FUNCTIONS: Final = "the functions that it calls"

_NOT_WHERE: Final = frozenset(
    (
        "username", "password", "pool.properties", "jdbc.driver.name", "field.length",
        "table.check.query", "use.collation", "isautocommit", "allow.null.values", "mode",
    )
)  # fmt: skip
"""Options of a @store that do not say which table of which database it is."""

_NOT_WHERE_IN_A_URL: Final = frozenset(
    (
        "user", "password", "passfile", "sslcert", "sslkey", "sslmode", "sslpassword",
        "sslrootcert",
    )
)  # fmt: skip
"""Parameters of a database's address that do not say so either."""

_LOGIN: Final = re.compile(r"(?<=://)[^/?#]*@")
"""Of an address: the user and the password in front of the host."""


@dataclass(frozen=True, slots=True)
class Part:
    """`path`: what the ids of its operators begin with. `traits`: what its state hangs on, by how
    people would call that. `written`: all of it as it is written, where the text has no name for it
    and its path is only its place in the text. `queries`: the names of a partition's queries.
    `purged_every_ms`: what the timer of an aggregation hangs on. `store`: where the rows of a table
    or an aggregation are written to beside its state, if they are.
    """

    path: str
    traits: Mapping[str, object]
    written: ast.Query | ast.Partition | None = None
    queries: tuple[str, ...] = ()
    purged_every_ms: int | None = None
    store: Mapping[str, str] | None = None

    @property
    def is_named(self) -> bool:
        """It is known by its name."""
        return self.written is None


def label_of(path: str) -> str:
    """A part for people."""
    kind, _, name = path.partition("/")
    return f"{kind} '{name_of(name)}'"


def parts_of(plan: AppPlan) -> Iterator[Part]:
    """In the order in which an engine makes them."""
    checked = plan.checked
    # What decides how all of them behave.
    whole: dict[str, object] = {"@app:compat": checked.annotations.get("compat")}
    for name, table in checked.tables.items():
        keys = [one for one in table.annotations if one.name.lower() in ("primarykey", "index")]
        traits = {
            "its attributes": table.attributes,
            "its keys": keys,
            "whether its rows are looked up in a database": name in checked.answers,
        }
        yield Part(f"table/{name}", traits, store=_store(table) if name in plan.stored else None)
    for name, window in checked.windows.items():
        yield Part(f"window/{name}", whole | _window(window, checked))
    for name, aggregation in checked.aggregations.items():
        yield Part(
            f"aggregation/{name}",
            whole | _aggregation(aggregation, checked),
            purged_every_ms=aggregation.retention.interval_ms,
            store=_store(aggregation.definition) if aggregation.tables else None,
        )
    for name, trigger in checked.triggers.items():
        yield Part(f"trigger/{name}", {"when it fires": trigger})
    yield from _models(plan)
    for node in plan.nodes:
        match node:
            case QueryNode():
                traits = whole | _query(node.query, checked)
                yield Part(node.path, traits, _unless_named(node.query.query))
            case PartitionNode():
                traits = whole | _partition(node, checked)
                unnamed = _unless_named(node.partition.partition)
                queries = tuple(one.name for one in node.queries)
                yield Part(node.path, traits, unnamed, queries)


def _models(plan: AppPlan) -> Iterator[Part]:
    """Those of the whole app: what they know hangs on who teaches them, and how."""
    found: dict[str, ModelUse] = {}
    for node in plan.nodes:
        if isinstance(node, QueryNode):
            for use in models_in(node.query.query.input):
                if use.declared.teaches:
                    found.setdefault(use.name, use)
    for name, use in found.items():
        traits = {
            "what it models": use.declared.of,
            "its settings": use.settings,
            "its features": use.features,
        }
        yield Part(model_path(name), traits)


def _unless_named(written: Written) -> Written | None:
    return None if info_name(written.annotations) else written


def _partition(node: PartitionNode, checked: CheckedApp) -> dict[str, object]:
    purge = [one for one in node.partition.partition.annotations if one.name.lower() == "purge"]
    inner = [
        (None if _unless_named(one.query.query) else one.name, _query(one.query, checked))
        for one in node.queries
    ]
    written = node.partition.partition
    return {
        "its keys": (written.keys, purge),
        "its queries": inner,
        FUNCTIONS: _functions(written.keys, checked),
    }


def _window(window: ast.WindowDefinition, checked: CheckedApp) -> dict[str, object]:
    return {
        "its definition": (window.attributes, window.window, window.output),
        FUNCTIONS: _functions(window, checked),
    }


def _store(definition: ast.TableDefinition | ast.AggregationDefinition) -> Mapping[str, str]:
    """Which table of which database it is, as its options say."""
    (store,) = (one for one in definition.annotations if one.name.lower() == "store")
    said = {(one.key or "").lower(): one.value for one in store.elements}
    where = {
        key: value.lower() if key == "type" else _place(value)
        for key, value in said.items()
        if key not in _NOT_WHERE
    }
    return {"table.name": definition.name} | where


def _place(value: str) -> str:
    """An option of a store: of an address without who logs in, and how."""
    address, _, parameters = _LOGIN.sub("", value).partition("?")
    kept = "&".join(
        one
        for one in parameters.split("&")
        if one.partition("=")[0].lower() not in _NOT_WHERE_IN_A_URL
    )
    return f"{address}?{kept}" if kept else address


def _buckets(aggregation: CheckedAggregation) -> object:
    """Which there are, and what is in them."""
    definition = aggregation.definition
    return (
        definition.input.handlers,
        definition.selector,
        aggregation.granularities,
        definition.aggregate_by,
        aggregation.shard,
        aggregation.time_zone,
    )


def _aggregation(aggregation: CheckedAggregation, checked: CheckedApp) -> dict[str, object]:
    definition = aggregation.definition
    return {
        "what it reads": _sources(aggregation.input, checked),
        "its definition": _buckets(aggregation),
        FUNCTIONS: _functions((definition.input.handlers, definition.selector), checked),
    }


def _query(query: CheckedQuery, checked: CheckedApp) -> dict[str, object]:
    return {
        "what it reads": _sources(query.input, checked),
        "its windows, functions or pattern": _input(query.query.input, _takes_off(query)),
        "what it aggregates or selects by functions": _selection(query),
        "its output": (query.query.rate, query.query.action.events, _action(query.query.action)),
        FUNCTIONS: _functions(query.query, checked),
    }


def _functions(tree: Any, checked: CheckedApp) -> object:
    return [checked.functions[name] for name in sorted(own_functions(tree, checked))]


def own_functions(tree: Any, checked: CheckedApp) -> set[str]:
    """The functions of the app that are called in a tree, also by the conditions of its windows."""
    called: set[str] = set()
    for one in below(tree):
        match one:
            case ast.FunctionCall():
                called.add(one.name)
            case ast.WindowHandler(call=call) | ast.WindowDefinition(window=call):
                for condition in _conditions(call):
                    if not isinstance(condition, ast.Constant):
                        # An attribute: its text may call all of them.
                        return set(checked.functions)
                    text = parse(str(condition.value), "expression")
                    called |= own_functions(text, checked)
    return called & checked.functions.keys()


def _conditions(window: ast.FunctionCall) -> Iterator[ast.Expression]:
    """The arguments of a window that stand where it takes the text of a condition."""
    overloads = declared_window(window).overloads
    for place, argument in enumerate(window.arguments):
        if any(one.parameters[place].condition for one in overloads if place < len(one.parameters)):
            yield argument


def _sources(
    query_input: CheckedStream | CheckedJoin | CheckedPattern, checked: CheckedApp
) -> object:
    """The attributes of what is read, and what decides which of its events come and go."""
    match query_input:
        case CheckedStream():
            source = query_input.input.source
            decided: object = None
            if query_input.kind is SourceKind.WINDOW:
                decided = _window(checked.windows[source], checked)
            elif query_input.kind is SourceKind.AGGREGATION:
                decided = _buckets(checked.aggregations[source])
            return source, query_input.source_schema, decided
        case CheckedJoin():
            return [_sources(side, checked) for side in (query_input.left, query_input.right)]
        case CheckedPattern():
            return [_sources(state.stream, checked) for state in query_input.states]


def _takes_off(query: CheckedQuery) -> frozenset[str] | None:
    """None where rows that leave change nothing; else the named windows that are read: these stand
    in front of every condition."""
    if not query.uses_aggregators and query.query.rate is None:
        return None
    match query.input:
        case CheckedStream():
            sides: tuple[CheckedStream, ...] = (query.input,)
        case CheckedJoin():
            sides = (query.input.left, query.input.right)
        case CheckedPattern():
            return None
    return frozenset(side.input.source for side in sides if side.kind is SourceKind.WINDOW)


def _input(query_input: ast.Input, takes_off: frozenset[str] | None = None) -> object:
    match query_input:
        case ast.StreamInput():
            return _handlers(query_input, takes_off)
        case ast.JoinInput():
            sides = [_input(side, takes_off) for side in (query_input.left, query_input.right)]
            on = _condition(query_input.on) if takes_off is None else query_input.on
            return sides, query_input.type, query_input.trigger, query_input.range, on
        case ast.StateInput():
            element = _element(query_input.element)
            return element, query_input.is_sequence, query_input.within_ms
        case ast.AnonymousInput():
            return query_input


def _handlers(stream: ast.StreamInput, takes_off: frozenset[str] | None) -> list[object]:
    found: list[object] = []
    is_behind = takes_off is not None and stream.source in takes_off
    for one in stream.handlers:
        if isinstance(one, ast.Filter):
            found.append(one.condition if is_behind else _condition(one.condition))
        else:
            found.append(one)
            is_behind |= takes_off is not None and isinstance(one, ast.WindowHandler)
    return found


def _element(element: ast.StateElement) -> object:
    match element:
        case ast.StreamState():
            return _input(element.stream)
        case ast.CountState():
            return "times", _element(element.state), element.min, element.max
        case ast.AbsentState():
            return "not", _input(element.stream), element.for_ms
        case ast.LogicalState():
            return (
                "and" if element.is_and else "or",
                _element(element.left),
                _element(element.right),
            )
        case ast.EveryState():
            return "every", _element(element.state)
        case ast.ChainState():
            return [_element(one) for one in element.elements]


def _selection(query: CheckedQuery) -> object:
    """All of it where something adds up, or what is held back has the rows; else what calls
    functions."""
    selector = query.query.selector
    attributes = [one.expression for one in query.selection]
    if query.uses_aggregators or selector.group_by or query.query.rate is not None:
        having = selector.having if query.query.rate is not None else _condition(selector.having)
        return attributes, selector.group_by, having
    return [one for one in attributes if calls(one)], _condition(selector.having)


def _action(action: ast.Action) -> object:
    return action if calls(action) else None


def _condition(condition: ast.Expression | None) -> object:
    """Nothing hangs on what a condition compares, unless a function in it remembers something."""
    return condition if calls(condition) else None


def calls(tree: Any) -> bool:
    """Whether there is a call of a function in it."""
    return any(isinstance(one, ast.FunctionCall) for one in below(tree))
