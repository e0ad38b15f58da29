"""What of an app's state goes on when another text takes its place: the parts of the new text whose
state hangs on nothing that has changed.

A part is what keeps state by itself: a query, a partition with all its queries, a table, a named
window, an aggregation, a trigger. Its state goes on when what it reads has the same attributes, and
its windows, patterns, aggregates and rate are the same. Conditions may change, and what is selected
where nothing is aggregated: no state hangs on these, unless they call functions. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeVar

from lockstep.plan.nodes import AppPlan, PartitionNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedAggregation,
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)

Written = TypeVar("Written", ast.Query, ast.Partition)


@dataclass(frozen=True, slots=True)
class Part:
    """`path`: what the ids of its operators begin with. `traits`: what its state hangs on, by how
    people would call that. `written`: all of it as it is written, where the text has no name for it
    and its path is only its place in the text. `queries`: the names of a partition's queries.
    """

    path: str
    traits: Mapping[str, object]
    written: ast.Query | ast.Partition | None = None
    queries: tuple[str, ...] = ()

    @property
    def is_named(self) -> bool:
        """It is known by its name."""
        return self.written is None


def label_of(path: str) -> str:
    """A part for people."""
    kind, _, name = path.partition("/")
    return f"{kind} '{name}'"


@dataclass(frozen=True, slots=True)
class Succession:
    """`heirs`: parts of the new text by path, with the path of the part of the old text whose state
    they take over. `others`: the other parts of both texts by path, and why not. `renamed`: of
    heirs that are partitions, the new names of queries by old ones.
    """

    heirs: Mapping[str, str]
    others: Mapping[str, str]
    renamed: Mapping[str, Mapping[str, str]]

    @property
    def is_whole(self) -> bool:
        """The texts have the same parts under the same names."""
        moved = self.others or self.renamed or any(new != old for new, old in self.heirs.items())
        return not moved


EVERYTHING: Final = "times with and without @app:playback are not the same"
"""Why nothing can go on between two texts of which one is in playback."""


def losses(old: AppPlan, new: AppPlan) -> tuple[str, ...]:
    """What begins empty, if it has state, and why, for people."""
    if old.checked.is_playback != new.checked.is_playback:
        return (f"everything ({EVERYTHING})",)
    found = succession(old, new)
    taken = set(found.heirs.values())
    known = {part.path for part in parts_of(old)} - taken
    return tuple(said(path, why) for path, why in found.others.items() if path in known)


def said(path: str, why: str) -> str:
    """Of a part that does not go on."""
    return f"{label_of(path)} ({why})"


def succession(old: AppPlan, new: AppPlan) -> Succession:
    """Who takes over whose state."""
    before = {part.path: part for part in parts_of(old)}
    parts = list(parts_of(new))
    heirs = {
        part.path: part.path
        for part in parts
        if part.is_named and part.path in before and before[part.path].traits == part.traits
    }
    heirs |= _unnamed([one for one in before.values() if not one.is_named], parts)
    others: dict[str, str] = {}
    _let_go(list(_sums(new)), heirs, others)
    taken = set(heirs.values())
    for part in parts:
        if part.path not in heirs and part.path not in others:
            is_other = part.path in before and part.path not in taken
            others[part.path] = _other(before[part.path], part) if is_other else "new"
    paths = {part.path for part in parts}
    others |= {path: "not in this text" for path in before if path not in paths | taken}
    renamed = {
        part.path: names
        for part in parts
        if part.path in heirs and (names := _names(before[heirs[part.path]].queries, part.queries))
    }
    return Succession(heirs, others, renamed)


def _names(old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, str]:
    return {one: other for one, other in zip(old, new, strict=True) if one != other}


def _unnamed(old: list[Part], parts: list[Part]) -> dict[str, str]:
    """Those that the text does not name may have moved: they are known by how they are written, and
    then by where they stand and what they write."""
    heirs: dict[str, str] = {}
    for is_same in (_is_written_alike, _stands_and_writes_alike, _writes_alike):
        for part in parts:
            if part.is_named or part.path in heirs:
                continue
            alike = next((one for one in old if is_same(one, part)), None)
            if alike is not None:
                old.remove(alike)
                heirs[part.path] = alike.path
    return heirs


def _is_written_alike(old: Part, new: Part) -> bool:
    return old.written == new.written and old.traits == new.traits


def _stands_and_writes_alike(old: Part, new: Part) -> bool:
    return old.path == new.path and _writes_alike(old, new)


def _writes_alike(old: Part, new: Part) -> bool:
    return old.traits == new.traits and _targets(old.written) == _targets(new.written)


def _targets(written: ast.Query | ast.Partition | None) -> object:
    if isinstance(written, ast.Partition):
        return [_targets(query) for query in written.queries]
    action = None if written is None else written.action
    return None if isinstance(action, ast.ReturnEvents | None) else action.target


def _other(old: Part, new: Part) -> str:
    names = [name for name in new.traits if old.traits.get(name) != new.traits[name]]
    return f"changed: {', '.join(names)}"


def _let_go(sums: list[_Sum], heirs: dict[str, str], others: dict[str, str]) -> None:
    """Rows that leave a named window are taken off sums that they were added to: who adds up what a
    window holds cannot go on without it, nor it without him. In a join what the window held before
    is added with what comes later, so that a new one takes nothing amiss.
    """
    is_more = True
    while is_more:
        is_more = False
        for one in sums:
            gone: tuple[str, str] | None = None
            if one.part in heirs and one.window not in heirs:
                gone = one.part, one.window
            elif one.window in heirs and one.part not in heirs and not one.is_join:
                gone = one.window, one.part
            if gone is not None:
                del heirs[gone[0]]
                others[gone[0]] = f"it goes with {label_of(gone[1])}"
                is_more = True


@dataclass(frozen=True, slots=True)
class _Sum:
    """A part that adds up rows of a named window, alone or joined with others."""

    part: str
    window: str
    is_join: bool


def _sums(plan: AppPlan) -> Iterator[_Sum]:
    for node in plan.nodes:
        queries = [node] if isinstance(node, QueryNode) else node.queries
        part = f"query/{node.name}" if isinstance(node, QueryNode) else f"partition/{node.name}"
        for query in (one.query for one in queries if one.query.uses_aggregators):
            source = query.input
            is_join = isinstance(source, CheckedJoin)
            sides = [source.left, source.right] if isinstance(source, CheckedJoin) else [source]
            for side in sides:
                if isinstance(side, CheckedStream) and side.kind is SourceKind.WINDOW:
                    yield _Sum(part, f"window/{side.input.source}", is_join)


def parts_of(plan: AppPlan) -> Iterator[Part]:
    """In the order in which an engine makes them."""
    checked = plan.checked
    # What decides how all of them behave.
    whole: dict[str, object] = {"@app:compat": checked.annotations.get("compat")}
    for name, table in checked.tables.items():
        keys = [one for one in table.annotations if one.name.lower() in ("primarykey", "index")]
        yield Part(f"table/{name}", {"its attributes": table.attributes, "its keys": keys})
    for name, window in checked.windows.items():
        yield Part(f"window/{name}", whole | {"its definition": _definition(window)})
    for name, aggregation in checked.aggregations.items():
        yield Part(f"aggregation/{name}", whole | _aggregation(aggregation, checked))
    for name, trigger in checked.triggers.items():
        yield Part(f"trigger/{name}", {"when it fires": trigger})
    for node in plan.nodes:
        match node:
            case QueryNode():
                traits = whole | _query(node.query, checked)
                yield Part(f"query/{node.name}", traits, _unless_named(node.query.query))
            case PartitionNode():
                traits = whole | _partition(node, checked)
                unnamed = _unless_named(node.partition.partition)
                queries = tuple(one.name for one in node.queries)
                yield Part(f"partition/{node.name}", traits, unnamed, queries)


def _unless_named(written: Written) -> Written | None:
    named = (one.get("name") for one in written.annotations if one.name.lower() == "info")
    return None if any(named) else written


def _partition(node: PartitionNode, checked: CheckedApp) -> dict[str, object]:
    purge = [one for one in node.partition.partition.annotations if one.name.lower() == "purge"]
    inner = [
        (None if _unless_named(one.query.query) else one.name, _query(one.query, checked))
        for one in node.queries
    ]
    return {"its keys": (node.partition.partition.keys, purge), "its queries": inner}


def _definition(window: ast.WindowDefinition) -> object:
    return window.attributes, window.window, window.output


def _aggregation(aggregation: CheckedAggregation, checked: CheckedApp) -> dict[str, object]:
    definition = aggregation.definition
    return {
        "what it reads": _sources(aggregation.input, checked),
        "its definition": (
            definition.input.handlers,
            definition.selector,
            aggregation.granularities,
            definition.aggregate_by,
            definition.annotations,
            aggregation.shard,
            aggregation.time_zone,
        ),
    }


def _query(query: CheckedQuery, checked: CheckedApp) -> dict[str, object]:
    return {
        "what it reads": _sources(query.input, checked),
        "its windows, functions or pattern": _input(query.query.input),
        "what it aggregates or selects by functions": _selection(query),
        "its output": (query.query.rate, query.query.action.events, _action(query.query.action)),
    }


def _sources(
    query_input: CheckedStream | CheckedJoin | CheckedPattern, checked: CheckedApp
) -> object:
    """The attributes of what is read, and what decides which of its events come and go."""
    match query_input:
        case CheckedStream():
            source = query_input.input.source
            decided: object = None
            if query_input.kind is SourceKind.WINDOW:
                decided = _definition(checked.windows[source])
            elif query_input.kind is SourceKind.AGGREGATION:
                decided = checked.aggregations[source].definition
            return source, query_input.source_schema, decided
        case CheckedJoin():
            return [_sources(side, checked) for side in (query_input.left, query_input.right)]
        case CheckedPattern():
            return [_sources(state.stream, checked) for state in query_input.states]


def _input(query_input: ast.Input) -> object:
    match query_input:
        case ast.StreamInput():
            return [_handler(one) for one in query_input.handlers]
        case ast.JoinInput():
            sides = [_input(side) for side in (query_input.left, query_input.right)]
            on = _condition(query_input.on)
            return sides, query_input.type, query_input.trigger, query_input.range, on
        case ast.StateInput():
            element = _element(query_input.element)
            return element, query_input.is_sequence, query_input.within_ms
        case ast.AnonymousInput():
            return query_input


def _handler(handler: ast.Handler) -> object:
    return _condition(handler.condition) if isinstance(handler, ast.Filter) else handler


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
    if isinstance(tree, ast.FunctionCall):
        return True
    if isinstance(tree, tuple):
        return any(calls(one) for one in tree)
    return is_dataclass(tree) and any(calls(getattr(tree, one.name)) for one in fields(tree))
