"""Tables that are looked up (mode 'lookup'): what a database is asked when an event comes.

The answer comes with the event, in one record of the input log: rows, events, and the keys of the
rows, which then go again. So the table is there while the event goes through, and holds what the
event asked for. What is asked has to be known from the event alone, at the door.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import AskedStream, ExternalTable, Lookup
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

CHANGE = "change"
INSTEAD = "use mode='copy', which queries read as any table"


@dataclass
class _Found:
    tables: dict[str, ExternalTable] = field(default_factory=dict)
    lookups: list[Lookup] = field(default_factory=list)


def asked_streams(tree: ast.App, tables: Mapping[str, ExternalTable]) -> tuple[AskedStream, ...]:
    """The streams whose events ask for rows of these tables; SiddhiQLError where a table is used
    in a way that no single event decides."""
    doors = _doors(tree)
    found: dict[str, _Found] = {}
    for query in _queries(tree):
        for stream, table, on in _uses(query, tables):
            door = doors.get(stream.source)
            if door is None:
                raise _refused(stream.at, table, f"{stream.source!r} is no stream of the door")
            if any(not isinstance(one, ast.Filter) for one in stream.handlers):
                raise _refused(stream.at, table, "there is more than a filter between")
            one = found.setdefault(door.name, _Found())
            one.tables.setdefault(table.name, table)
            lookup = Lookup(table, _equal(stream, door, table, on))
            if lookup not in one.lookups:
                one.lookups.append(lookup)
    return tuple(
        AskedStream(doors[name], tuple(one.tables.values()), tuple(one.lookups))
        for name, one in found.items()
    )


def _refused(at: ast.Location, table: ExternalTable, why: str) -> SiddhiQLError:
    return positioned(at, f"{table.name!r} cannot be looked up here: {why}", INSTEAD)


def _queries(tree: ast.App) -> Iterator[ast.Query]:
    for item in tree.execution:
        yield from item.queries if isinstance(item, ast.Partition) else (item,)


def _doors(tree: ast.App) -> dict[str, ast.StreamDefinition]:
    written = {getattr(query.action, "target", "") for query in _queries(tree)}
    return {
        one.name: one
        for one in tree.definitions
        if isinstance(one, ast.StreamDefinition) and one.name not in written
    }


Use = tuple[ast.StreamInput, ExternalTable, ast.Expression | None]


def _uses(query: ast.Query, tables: Mapping[str, ExternalTable]) -> Iterator[Use]:
    """Where a query reads one of the tables: by a join, or by `in` in a filter of a stream."""
    known = 0
    join = query.input if isinstance(query.input, ast.JoinInput) else None
    if join is not None:
        for side, other in ((join.left, join.right), (join.right, join.left)):
            if side.source in tables:
                known += 1
                alias = replace(side, alias=side.alias or side.source)
                yield other, tables[side.source], _named(join.on, alias)
    for stream in (one for one in below(query.input) if isinstance(one, ast.StreamInput)):
        for handler in stream.handlers:
            inside = [one for one in below(handler) if isinstance(one, ast.InTable)]
            for one in inside if isinstance(handler, ast.Filter) else ():
                if one.table in tables:
                    known += 1
                    yield stream, tables[one.table], one.condition
    used = [one for one in below(query) if _reads(one, tables)]
    if len(used) > known:
        one = used[-1]
        table = tables[getattr(one, "table", None) or one.source]
        raise _refused(one.at, table, "neither a join nor a stream's filter asks for it")


def _reads(node: object, tables: Mapping[str, ExternalTable]) -> bool:
    if isinstance(node, ast.StreamInput):
        return node.source in tables
    return isinstance(node, ast.InTable) and node.table in tables


def _named(on: ast.Expression | None, side: ast.StreamInput) -> ast.Expression | None:
    """The condition with the table's own name for its alias."""
    if on is None or side.alias == side.source:
        return on
    return _renamed(on, side.alias or "", side.source)


def _renamed(node: ast.Expression, alias: str, name: str) -> ast.Expression:
    if isinstance(node, ast.Variable):
        return replace(node, source=name) if node.source == alias else node
    if isinstance(node, ast.And | ast.Compare):
        return replace(
            node, left=_renamed(node.left, alias, name), right=_renamed(node.right, alias, name)
        )
    return node


def _equal(
    stream: ast.StreamInput,
    door: ast.StreamDefinition,
    table: ExternalTable,
    on: ast.Expression | None,
) -> tuple[tuple[str, str | ast.Constant], ...]:
    """The equalities of the condition that say which rows may match."""
    names = {None, stream.alias, stream.source}
    types = {one.name: one.type for one in table.definition.attributes}
    given = {one.name: one.type for one in door.attributes}
    found: dict[str, str | ast.Constant] = {}
    for part in _conjuncts(on):
        if not isinstance(part, ast.Compare) or part.operator is not ast.CompareOperator.EQUAL:
            continue
        for row, value in ((part.left, part.right), (part.right, part.left)):
            if not isinstance(row, ast.Variable) or row.source != table.name:
                continue
            wanted = types.get(row.name)
            if isinstance(value, ast.Constant) and value.type is wanted:
                found.setdefault(row.name, value)
            if not isinstance(value, ast.Variable) or value.source not in names:
                continue
            if wanted is not None and given.get(value.name) is wanted:
                found.setdefault(row.name, value.name)
    if not any(isinstance(value, str) for value in found.values()):
        raise _refused(
            stream.at,
            table,
            f"the condition compares no attribute of {table.name!r} with one of {door.name!r} of"
            " the same type by '=='",
        )
    lacking = [name for name in table.key if name not in found]
    if table.is_by_key and lacking:
        raise _refused(
            stream.at,
            table,
            f"its store finds a row by its whole primary key, and the condition compares no"
            f" {lacking[0]!r} by '=='",
        )
    return tuple(sorted(found.items()))


def _conjuncts(on: ast.Expression | None) -> Sequence[ast.Expression]:
    if isinstance(on, ast.And):
        return [*_conjuncts(on.left), *_conjuncts(on.right)]
    return [] if on is None else [on]


# --- what they become ----------------------------------------------------------------------------


def event_column(attribute: str) -> str:
    """Where a record with answers has an attribute of its events."""
    return f"e_{attribute}"


def row_column(table: int, attribute: str) -> str:
    """And one of the rows of its `table`-th table."""
    return f"t{table}_{attribute}"


def carrier(asked: AskedStream) -> ast.StreamDefinition:
    """The stream by which rows and events come."""
    at = asked.stream.at
    attributes = [ast.AttributeDefinition(CHANGE, AttributeType.INT, at=at)]
    attributes += [replace(one, name=event_column(one.name)) for one in asked.stream.attributes]
    for number, table in enumerate(asked.tables):
        attributes += [
            replace(one, name=row_column(number, one.name)) for one in table.definition.attributes
        ]
    return ast.StreamDefinition(asked.name, tuple(attributes), at=at)


def unpackers(asked: AskedStream) -> Iterator[ast.Query]:
    """The queries that take a record with answers apart."""
    names = [one.name for one in asked.stream.attributes]
    into = ast.InsertInto(asked.stream.name, at=asked.stream.at)
    columns = [event_column(name) for name in names]
    yield _unpacker(asked, "events", AskedStream.EVENT, zip(columns, names, strict=True), into)
    for number, table in enumerate(asked.tables):
        every = [one.name for one in table.definition.attributes]
        same: ast.Expression | None = None
        for key in table.key:
            equal = ast.Compare(
                ast.CompareOperator.EQUAL, ast.Variable(key, table.name), ast.Variable(key)
            )
            same = equal if same is None else ast.And(same, equal)
        put = ast.UpdateOrInsert(table.name, same, at=asked.stream.at)
        gone = ast.DeleteFrom(table.name, same, at=asked.stream.at)
        come = [(row_column(number, name), name) for name in every]
        go = [(row_column(number, name), name) for name in table.key]
        yield _unpacker(asked, f"{table.name}_come", asked.comes(number), come, put)
        yield _unpacker(asked, f"{table.name}_go", asked.goes(number), go, gone)


def _unpacker(
    asked: AskedStream,
    name: str,
    change: int,
    columns: Iterator[tuple[str, str]] | Sequence[tuple[str, str]],
    action: ast.InsertInto | ast.UpdateOrInsert | ast.DeleteFrom,
) -> ast.Query:
    is_it = ast.Compare(
        ast.CompareOperator.EQUAL,
        ast.Variable(CHANGE),
        ast.Constant(change, AttributeType.INT),
    )
    shown = tuple(ast.OutputAttribute(ast.Variable(column), name) for column, name in columns)
    called = ast.Element("name", f"{asked.name}_{name}")
    return ast.Query(
        ast.StreamInput(asked.name, (ast.Filter(is_it),), at=asked.stream.at),
        ast.Selector(shown),
        action,
        annotations=(ast.Annotation("info", (called,)),),
        at=asked.stream.at,
    )
