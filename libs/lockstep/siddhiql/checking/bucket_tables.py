"""@store on an aggregation: which tables there are, with which columns (semantics 17.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockstep.events import Attribute
from lockstep.siddhiql import ast
from lockstep.siddhiql.bucket_columns import BUCKET, EVENT_TIMES, SHARD, SUFFIXES, base_columns
from lockstep.siddhiql.checking.annotations import single
from lockstep.siddhiql.checking.selection import name_of
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import positioned


def bucket_tables(
    definition: ast.AggregationDefinition,
    items: Sequence[ast.OutputAttribute],
    granularities: Sequence[ast.Granularity],
    scope: Scope,
    *,
    has_shards: bool,
) -> Mapping[ast.Granularity, ast.TableDefinition]:
    """A table definition for each granularity, with its store and key; none without @store."""
    store = single(definition.annotations, "store")
    if store is None:
        return {}
    groups = [Attribute(v.name, scope.resolve(v).type) for v in definition.selector.group_by]
    key = [BUCKET, *([SHARD] if has_shards else []), *groups]
    times = EVENT_TIMES if definition.aggregate_by is not None else ()
    columns = {column.name: column for column in (*key, *times)}
    grouped = {v.name: scope.resolve(v) for v in definition.selector.group_by}
    plain: set[str] = set()
    for item in items:
        shown = item.expression
        if isinstance(shown, ast.Variable) and scope.resolve(shown) == grouped.get(name_of(item)):
            continue
        is_plain = not isinstance(shown, ast.FunctionCall)
        for column in base_columns(item, name_of(item), scope):
            if column.name in columns and (is_plain or not column.name.startswith("AGG_")):
                raise _taken(item, column.name)
            if column.name in plain:
                raise _taken(item, column.name)
            columns[column.name] = column
            plain.update((column.name,) if is_plain else ())
    return {
        granularity: _table(definition, granularity, tuple(columns.values()), key, store)
        for granularity in granularities
    }


def _taken(item: ast.OutputAttribute, name: str) -> SiddhiQLError:
    return positioned(
        item.at, f"two columns of the stored buckets would be called {name!r}", "rename this one"
    )


def _table(
    definition: ast.AggregationDefinition,
    granularity: ast.Granularity,
    columns: Sequence[Attribute],
    key: Sequence[Attribute],
    store: ast.Annotation,
) -> ast.TableDefinition:
    suffix = SUFFIXES[granularity]
    elements = tuple(
        replace(e, value=f"{e.value}_{suffix}") if (e.key or "").lower() == "table.name" else e
        for e in store.elements
    )
    keys = tuple(ast.Element(None, column.name) for column in key)
    return ast.TableDefinition(
        f"{definition.name}_{suffix}",
        tuple(ast.AttributeDefinition(column.name, column.type) for column in columns),
        (replace(store, elements=elements), ast.Annotation("PrimaryKey", keys)),
        at=definition.at,
    )
