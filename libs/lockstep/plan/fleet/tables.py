"""How a query that uses tables can be cut by key: where it says of each of them that the rows it
looks at, writes or takes away have the event's key. Then a key's rows are in one partition. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import product
from typing import Final

from lockstep.plan.fleet.contract import Together
from lockstep.plan.fleet.keys import attribute, conjuncts
from lockstep.plan.fleet.matching import (
    EXACT,
    adds_up_without,
    carrying,
    equal_variables,
    equalities,
    may_be_missing,
)
from lockstep.plan.fleet.traits import (
    Keyed,
    Trait,
    Whole,
    cuts_rows,
    neutral_handlers,
    streams_of,
    window_of,
)
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.scope import Scope, row_scope
from lockstep.siddhiql.trees import below

Pairs = frozenset[tuple[str, str]]
"""(attribute of the stream, of the table) that are equal."""

_STREAMS: Final = (SourceKind.STREAM, SourceKind.INNER)
_KINDS: Final = (*_STREAMS, SourceKind.TABLE)


def uses_tables_alone(query: CheckedQuery) -> bool:
    """Whether it uses a table, and nothing else that several queries may share."""
    kinds = [one.kind for one in streams_of(query)] + [query.target_kind]
    asks = any(isinstance(one, ast.InTable) for one in below(query.query))
    return (asks or SourceKind.TABLE in kinds) and all(kind in _KINDS for kind in kinds)


def table_trait(query: CheckedQuery, checked: CheckedApp) -> Trait:
    """How a query that uses tables can be cut."""
    stream = _stream(query)
    if isinstance(stream, Whole):
        return stream
    reason = _plainness(query, checked)
    if reason is not None:
        return Whole(reason)
    uses = _uses(query, stream, checked)
    if isinstance(uses, Whole):
        return uses
    slot = _slot(query, stream)
    adds_up = query.uses_aggregators or bool(query.query.selector.group_by)
    options = [
        Keyed(
            {stream.input.source: attribute(name)},
            {query.output.name: tuple(map(attribute, _carried(query, stream, name)))},
            wraps=adds_up,
            together=Together.KEYS,
            passes_sends=True,
            tables=tables,
        )
        for name in stream.source_schema.names
        if not (adds_up and adds_up_without(query, [(slot, name)]))
        for tables in _tables(name, uses, checked)
    ]
    if options:
        return tuple(options)
    if any(_tables(name, uses, checked) for name in stream.source_schema.names):
        return Whole("it adds up over all keys: it does not group by the key of its table")
    return Whole(f"it does not say that its rows of {_names(uses)} have the key of its event")


def _names(uses: Mapping[str, object]) -> str:
    return " and ".join(f"'{name}'" for name in uses)


def _stream(query: CheckedQuery) -> CheckedStream | Whole:
    """The one stream that it reads."""
    match query.input:
        case CheckedStream():
            return query.input
        case CheckedJoin(left=left, right=right):
            found = [one for one in (left, right) if one.kind in _STREAMS]
            if len(found) == 1:
                return found[0]
            return Whole("it joins two streams and asks a table as well")
        case CheckedPattern():
            return Whole("it is a pattern that asks a table")


def _slot(query: CheckedQuery, stream: CheckedStream) -> int:
    return 1 if isinstance(query.input, CheckedJoin) and query.input.right is stream else 0


def _plainness(query: CheckedQuery, checked: CheckedApp) -> str | None:
    """Why its rows hang on more than the event and the tables, if they do."""
    selector = query.query.selector
    if cuts_rows(selector):
        return "'order by', 'limit' and 'offset' look at all rows of a send"
    for stream in streams_of(query):
        call = window_of(stream)
        if call is not None:
            return f"it asks a table, and its window '{call.name}' holds events of all keys"
        reason = neutral_handlers(stream, checked)
        if reason is not None:
            return reason
    return _unmet(query)


def _unmet(query: CheckedQuery) -> str | None:
    if isinstance(query.input, CheckedJoin):
        table = 0 if query.input.left.kind is SourceKind.TABLE else 1
        if may_be_missing(query.input.input.type, 1 - table):
            return "its join gives out rows of the table that no event met"
    return None


def tables_within(
    query: CheckedQuery, keys: Container[str], checked: CheckedApp
) -> list[dict[str, str]] | Whole:
    """By which attributes the tables of a query in a value partition can be cut; `keys`: the
    attributes of its stream that are the partition's key."""
    stream = _stream(query)
    if isinstance(stream, Whole):
        return stream
    reason = _unmet(query)
    if reason is not None:
        return Whole(reason)
    uses = _uses(query, stream, checked)
    if isinstance(uses, Whole):
        return uses
    names = [name for name in stream.source_schema.names if name in keys]
    found = [tables for name in names for tables in _tables(name, uses, checked)]
    return found or Whole(f"it does not say that its rows of {_names(uses)} have the key")


# --- what it says of its tables ------------------------------------------------------------------


def _uses(
    query: CheckedQuery, stream: CheckedStream, checked: CheckedApp
) -> dict[str, list[Pairs]] | Whole:
    """Of each table, by use: which attributes of the stream equal which of its own."""
    found: dict[str, list[Pairs]] = {}
    asked = 0
    for handler in stream.handlers:
        for one in below(handler.handler):
            if isinstance(one, ast.InTable):
                asked += 1
                found.setdefault(one.table, []).append(_asked(one, handler.scope, checked))
    if asked < sum(isinstance(one, ast.InTable) for one in below(query.query)):
        return Whole("it asks a table elsewhere than in a filter of its stream")
    if isinstance(query.input, CheckedJoin):
        join = query.input
        table = join.right if join.left is stream else join.left
        found.setdefault(table.input.source, []).append(_joined(join, stream))
    if query.target_kind is SourceKind.TABLE:
        found.setdefault(query.output.name, []).append(_written(query, stream, checked))
    return found


def _asked(asked: ast.InTable, scope: Scope, checked: CheckedApp) -> Pairs:
    """Of `condition in T`."""
    inner = row_scope(scope, checked.schemas[asked.table])
    return frozenset(_pairs(asked.condition, inner, len(scope.sources)))


def _pairs(condition: ast.Expression | None, scope: Scope, table: int) -> Iterator[tuple[str, str]]:
    """(attribute of the only other slot, of the table's) that a condition says are equal."""
    for one in conjuncts(condition):
        pair = equal_variables(one)
        if pair is None:
            continue
        refs = sorted(
            (scope.resolve(each) for each in pair), key=lambda ref: (ref.slot == table, ref.slot)
        )
        if [ref.slot for ref in refs] != [0, table] or not {ref.type for ref in refs} <= EXACT:
            continue
        names = [scope.sources[ref.slot].schema.names[ref.attribute] for ref in refs]
        yield names[0], names[1]


def _written(query: CheckedQuery, stream: CheckedStream, checked: CheckedApp) -> Pairs:
    """Of a write: which attributes of the stream equal which of the rows that it touches, before
    and after."""
    schema = checked.schemas[query.output.name]
    given = _given(query, stream)
    put = {(name, own) for own, name in given.items() if own in schema.names}
    action = query.query.action
    match action:
        case ast.InsertInto():
            placed = {
                (given[out], own)
                for out, own in zip(query.output.names, schema.names, strict=True)
                if out in given
            }
            return _exact(put & placed, stream, checked, query.output.name)
        case ast.DeleteFrom(on=on) | ast.UpdateTable(on=on) | ast.UpdateOrInsert(on=on):
            assert query.action_scope is not None
            found = {
                (given[out], own) for out, own in _pairs(on, query.action_scope, 1) if out in given
            }
        case _:
            return frozenset()
    if isinstance(action, ast.UpdateOrInsert):
        found &= put
    if isinstance(action, ast.UpdateTable | ast.UpdateOrInsert):
        if action.set is None:
            changed = {own for own in query.output.names if own in schema.names}
            found = {each for each in found if each in put or each[1] not in changed}
        else:
            changed = {one.attribute.name for one in action.set}
            found = {each for each in found if each[1] not in changed}
    return frozenset(found)


def _given(query: CheckedQuery, stream: CheckedStream) -> dict[str, str]:
    """The rows' attributes that are attributes of the stream, as they came."""
    return {
        out: name for name in stream.source_schema.names for out in _carried(query, stream, name)
    }


def _carried(query: CheckedQuery, stream: CheckedStream, name: str) -> list[str]:
    """The rows' attributes that are one of the stream: itself, or what a join says is equal."""
    slot = _slot(query, stream)
    same = [(slot, name)]
    if isinstance(query.input, CheckedJoin) and not may_be_missing(
        query.input.input.type, 1 - slot
    ):
        same += [(1 - slot, row) for mine, row in _joined(query.input, stream) if mine == name]
    return [key.name for key in carrying(query, same) if isinstance(key, ast.Variable)]


def _joined(join: CheckedJoin, stream: CheckedStream) -> Pairs:
    pairs = equalities(join)
    if join.right is stream:
        pairs = ((right, left) for left, right in pairs)
    return frozenset(pairs)


def _exact(
    pairs: set[tuple[str, str]], stream: CheckedStream, checked: CheckedApp, table: str
) -> Pairs:
    """Those whose values are equal just when their texts are."""
    types = dict(zip(stream.source_schema.names, stream.source_schema.types, strict=True))
    own = dict(zip(checked.schemas[table].names, checked.schemas[table].types, strict=True))
    return frozenset((name, row) for name, row in pairs if {types[name], own[row]} <= EXACT)


# --- the tables' keys ----------------------------------------------------------------------------


def _tables(
    name: str, uses: Mapping[str, list[Pairs]], checked: CheckedApp
) -> list[dict[str, str]]:
    """By which attribute each table can be cut, where its stream is cut by `name`."""
    choices = []
    for table, sides in uses.items():
        allowed = key_attributes(checked, table)
        equal = [{own for mine, own in pairs if mine == name} for pairs in sides]
        choices.append([(table, own) for own in allowed if all(own in one for one in equal)])
    return [dict(each) for each in product(*choices)]


def says_key(checked: CheckedApp, table: str) -> bool:
    """Whether an app tells by what rows of a table are found: by its primary key, or by a query
    that does more than put rows into it."""
    if any(one.name.lower() == "primarykey" for one in checked.tables[table].annotations):
        return True
    nodes = checked.execution
    queries = [one for one in nodes if isinstance(one, CheckedQuery)]
    queries += [
        query for one in nodes if not isinstance(one, CheckedQuery) for query in one.queries
    ]
    return any(
        any(stream.input.source == table for stream in streams_of(one))
        or (one.output.name == table and not isinstance(one.query.action, ast.InsertInto))
        or any(isinstance(each, ast.InTable) and each.table == table for each in below(one.query))
        for one in queries
    )


def key_attributes(checked: CheckedApp, table: str) -> tuple[str, ...]:
    """The attributes that a table may be cut by: without a primary key any, else the one that is
    the key. Rows under a key of several attributes have an order that hangs on how many rows there
    are; what a database holds is one."""
    definition = checked.tables[table]
    annotations = {one.name.lower(): one for one in definition.annotations}
    if "store" in annotations or table in checked.answers:
        return ()
    names, types = checked.schemas[table].names, checked.schemas[table].types
    primary = annotations.get("primarykey")
    if primary is not None:
        if len(primary.positional) != 1:
            return ()
        names_allowed = set(primary.positional)
    else:
        names_allowed = set(names)
    return tuple(
        name
        for name, type_ in zip(names, types, strict=True)
        if name in names_allowed and type_ in EXACT
    )
