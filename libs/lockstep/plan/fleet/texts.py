"""A group as an app of its own: what it uses of the definitions, its queries with their names, and
partitions around those that are cut by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lockstep.plan.fleet.contract import Feed
from lockstep.plan.fleet.keys import never_null
from lockstep.plan.fleet.traits import Keyed
from lockstep.plan.nodes import AppPlan, PartitionNode, PlanNode
from lockstep.plan.parts import Written, own_functions
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedApp
from lockstep.siddhiql.printing import print_app
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.syntax.parser import parse_app
from lockstep.siddhiql.typing import infer


@dataclass(frozen=True)
class Content:
    """What stands in a group's text. `streams`: those that it reads, writes or gives out;
    `wrapped`: the keys of queries that become partitions; `stores`: its tables and the like.
    `feeds`: how events reach it."""

    nodes: frozenset[str]
    streams: frozenset[str]
    exported: frozenset[str]
    channels: frozenset[str]
    wrapped: Mapping[str, Keyed]
    stores: frozenset[str]
    feeds: tuple[Feed, ...]


def scope_of(checked: CheckedApp, stream: str) -> Scope:
    """What a key of a stream sees."""
    functions = {name: one.returns for name, one in checked.functions.items()}
    source = Source(checked.schemas[stream], (stream,))
    return Scope(Shape.STREAM, (source,), functions=functions)


def total_key(checked: CheckedApp, stream: str, key: ast.Expression) -> ast.Expression:
    """A key that null has, too."""
    return never_null(key, infer(key, scope_of(checked, stream)))


def group_text(plan: AppPlan, content: Content) -> str:
    """The group, printed."""
    app = plan.checked.app
    execution = tuple(
        _named(written, node, plan.checked, content.wrapped.get(node.name))
        for written, node in zip(app.execution, plan.nodes, strict=True)
        if node.name in content.nodes
    )
    definitions = tuple(_definitions(plan, content, execution))
    named = ast.Annotation("app:name", (ast.Element(None, plan.name),))
    left_out = ("app:name", "app:parallel")
    others = tuple(one for one in app.annotations if one.name.lower() not in left_out)
    return print_app(ast.App((named, *others), definitions, execution))


def named_text(plan: AppPlan) -> str:
    """The whole app, in which each query and partition has the name that it goes by: so the parts
    of its groups are known by their names."""
    app = plan.checked.app
    execution = tuple(
        _named(written, node, plan.checked, None)
        for written, node in zip(app.execution, plan.nodes, strict=True)
    )
    return print_app(replace(app, execution=execution))


def united_text(texts: Iterable[str]) -> str:
    """The texts of an app's groups as one: each definition, query and partition once, by its
    name."""
    apps = [parse_app(text) for text in dict.fromkeys(texts)]
    definitions = {(type(one), one.name): _unmarked(one) for app in apps for one in app.definitions}
    execution = {(type(one), _name_of(one)): one for app in apps for one in app.execution}
    return print_app(
        ast.App(apps[0].annotations, tuple(definitions.values()), tuple(execution.values()))
    )


def _unmarked(one: ast.Definition) -> ast.Definition:
    """A stream that one group writes for another is a stream of the whole."""
    if not isinstance(one, ast.StreamDefinition):
        return one
    kept = tuple(each for each in one.annotations if each.name.lower() not in ("channel", "sink"))
    return replace(one, annotations=kept)


def _name_of(one: ast.Query | ast.Partition) -> str:
    """As the texts of groups give it to each."""
    return next(each.get("name") or "" for each in one.annotations if each.name.lower() == "info")


# --- definitions ---------------------------------------------------------------------------------


def _definitions(
    plan: AppPlan, content: Content, execution: tuple[ast.Query | ast.Partition, ...]
) -> Iterator[ast.Definition]:
    checked = plan.checked
    streams = content.streams | {
        key.stream for one in execution if isinstance(one, ast.Partition) for key in one.keys
    }
    asked = (*execution, *((feed.key, feed.where) for feed in content.feeds))
    # Aggregations call some, and on-demand queries may call all.
    called = set(checked.functions) if content.stores else own_functions(asked, checked)
    defined = set()
    for one in checked.app.definitions:
        match one:
            case ast.StreamDefinition():
                defined.add(one.name)
                if one.name in streams:
                    yield _stream(one, content)
            case ast.FunctionDefinition():
                if one.name in called:
                    yield one
            case _:
                if one.name in content.stores:
                    yield one
    written = {name for node in plan.nodes if node.name in content.nodes for name in node.written}
    for name in checked.streams:
        if name in defined or name not in streams or name in checked.triggers:
            continue
        if not name.startswith("!") and (name not in written or name in content.channels):
            schema = checked.streams[name]
            pairs = zip(schema.names, schema.types, strict=True)
            attributes = tuple(ast.AttributeDefinition(*pair) for pair in pairs)
            yield _stream(ast.StreamDefinition(name, attributes), content)


def _stream(one: ast.StreamDefinition, content: Content) -> ast.StreamDefinition:
    left_out = {"source", "channel"} | (set() if one.name in content.exported else {"sink"})
    kept = tuple(each for each in one.annotations if each.name.lower() not in left_out)
    if one.name in content.channels:
        kept = (*kept, ast.Annotation("channel"))
    return replace(one, annotations=kept)


# --- queries -------------------------------------------------------------------------------------


def _named(
    written: ast.Query | ast.Partition, node: PlanNode, checked: CheckedApp, keyed: Keyed | None
) -> ast.Query | ast.Partition:
    if isinstance(written, ast.Partition):
        assert isinstance(node, PartitionNode)
        queries = tuple(
            with_name(query, one.name)
            for query, one in zip(written.queries, node.queries, strict=True)
        )
        # Its text need not define what it has a key for and does not read, if one key is left.
        keys = tuple(one for one in written.keys if one.stream in node.reads) or written.keys
        return with_name(replace(written, keys=keys, queries=queries), node.name)
    query = with_name(written, node.name)
    if keyed is None or not keyed.wraps:
        return query
    keys = tuple(
        ast.ValueKey(total_key(checked, stream, key), stream) for stream, key in keyed.keys.items()
    )
    return with_name(ast.Partition(keys, (query,)), node.name)


def with_name(written: Written, name: str) -> Written:
    """The same with this name, and without what says where it runs."""
    return replace(written, annotations=_info(written.annotations, name))


def _info(annotations: tuple[ast.Annotation, ...], name: str) -> tuple[ast.Annotation, ...]:
    kept = tuple(one for one in annotations if one.name.lower() not in ("info", "dist"))
    return (ast.Annotation("info", (ast.Element("name", name),)), *kept)
