"""Tables over databases that others write too (modes 'copy', 'lookup'): what their rows come by.

Such a table has no store of its own to the rest of the app. It is filled by a stream of changes
that a receiver appends to the input log, and by queries that apply them. So every executor, replay
and snapshot treats it as a table like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checked import AskedStream, Change, ExternalTable
from lockstep.siddhiql.checking.annotations import single
from lockstep.siddhiql.checking.asked import asked_streams, carrier, unpackers
from lockstep.siddhiql.checking.caches import check_cache
from lockstep.siddhiql.checking.connectors import check_connector, require_type
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.parts import pairs
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

COPY: Final = "copy"
LOOKUP: Final = "lookup"
OWN: Final = "own"
CHANGE: Final = "change"
"""The first attribute of a stream of changes: what to do with the row that follows."""
MEANT: Final = {"columns": (COPY, LOOKUP), "poll.interval": (COPY,), "publication": (COPY,)}
"""Options that mean something in some modes alone."""
REDIS: Final = "redis"


@dataclass(frozen=True)
class Expanded:
    """An app whose external tables are filled by streams. `answers`: the tables that hold answers
    alone."""

    tree: ast.App
    copied: tuple[ExternalTable, ...] = ()
    asked: tuple[AskedStream, ...] = ()
    answers: frozenset[str] = frozenset()


def with_external(tree: ast.App) -> Expanded:
    """The app with its external tables filled from streams of changes and of answers."""
    copied: list[ExternalTable] = []
    asked: dict[str, ExternalTable] = {}
    definitions: list[ast.Definition] = []
    queries: list[ast.Query] = []
    for definition in tree.definitions:
        found = _external(definition) if isinstance(definition, ast.TableDefinition) else None
        if found is None:
            definitions.append(definition)
            continue
        mode, table = found
        definitions.append(_plain(table.definition))
        if mode == LOOKUP:
            asked[table.name] = table
        else:
            copied.append(table)
            definitions.append(_changes(table))
            queries += _appliers(table)
    if not copied and not asked:
        return Expanded(tree)
    _check_unwritten(tree, {*asked, *(table.name for table in copied)})
    streams = asked_streams(tree, asked)
    for stream in streams:
        definitions.append(carrier(stream))
        queries += unpackers(stream)
    made = replace(tree, definitions=tuple(definitions), execution=(*tree.execution, *queries))
    return Expanded(made, tuple(copied), streams, frozenset(asked))


def _external(definition: ast.TableDefinition) -> tuple[str, ExternalTable] | None:
    store = single(definition.annotations, "store")
    if store is None:
        return None
    mode = (store.get("mode") or OWN).strip().lower()
    for option in (one for one in MEANT if store.get(one) is not None and mode not in MEANT[one]):
        raise positioned(
            store.at,
            f"{option!r} means nothing with mode={mode!r}",
            f"leave it out, or write mode={MEANT[option][0]!r}",
        )
    if mode not in (COPY, LOOKUP):
        return None
    is_by_key = require_type(store, "rdbms").lower() == REDIS
    check_connector(ExtensionKind.STORE, store)
    check_cache(store)
    key, columns = _key(definition), _columns(definition, store)
    if is_by_key:
        _check_texts(definition, store, key, mode)
    return mode, ExternalTable(definition, store, key, columns, is_by_key=is_by_key)


def _check_texts(
    definition: ast.TableDefinition, store: ast.Annotation, key: tuple[str, ...], mode: str
) -> None:
    """A row that is asked for has to be found by one text."""
    floats = (AttributeType.FLOAT, AttributeType.DOUBLE)
    for attribute in definition.attributes:
        if mode == LOOKUP and attribute.name in key and attribute.type in floats:
            raise positioned(
                store.at,
                f"{attribute.name!r} is a {attribute.type.value}, which has many texts:"
                " Redis finds a row by the text of its key",
                "declare it as string, or use mode='copy'",
            )


def _key(definition: ast.TableDefinition) -> tuple[str, ...]:
    key = single(definition.annotations, "primarykey")
    if key is None or not key.positional:
        raise positioned(
            definition.at,
            f"the table {definition.name!r} is read from a database and has no primary key",
            "name the columns that tell its rows apart: @PrimaryKey('id')",
        )
    for attribute in definition.attributes:
        if attribute.type is AttributeType.OBJECT:
            raise positioned(
                attribute.at,
                f"{attribute.name!r} is an object, which no column of a database is",
                "string, int, long, float, double or bool",
            )
    return key.positional


def _columns(definition: ast.TableDefinition, store: ast.Annotation) -> tuple[tuple[str, str], ...]:
    annotation_ms(store, "poll.interval")
    names = [attribute.name for attribute in definition.attributes]
    mapped = dict(zip(names, names, strict=True))
    try:
        given = pairs(store.get("columns") or "", "=")
    except ValueError as error:
        raise positioned(
            store.at, f"'columns' says {error}", "attribute=column, with commas between"
        ) from error
    for attribute, column in given:
        if attribute not in mapped:
            raise positioned(
                store.at,
                f"'columns': {definition.name!r} has no attribute {attribute!r}",
                did_you_mean(attribute, names),
            )
        mapped[attribute] = column
    return tuple(mapped.items())


def _plain(definition: ast.TableDefinition) -> ast.TableDefinition:
    kept = tuple(one for one in definition.annotations if one.name.lower() != "store")
    return replace(definition, annotations=kept)


def _changes(table: ExternalTable) -> ast.StreamDefinition:
    at = table.definition.at
    change = ast.AttributeDefinition(CHANGE, AttributeType.INT, at=at)
    return ast.StreamDefinition(table.changes, (change, *table.definition.attributes), at=at)


def _appliers(table: ExternalTable) -> list[ast.Query]:
    """In the order of their numbers; only one of them takes a chunk's rows."""
    name, at = table.name, table.definition.at
    same: ast.Expression | None = None
    for key in table.key:
        equal = ast.Compare(
            ast.CompareOperator.EQUAL, ast.Variable(key, name, at=at), ast.Variable(key, at=at)
        )
        same = equal if same is None else ast.And(same, equal)
    all_names = [attribute.name for attribute in table.definition.attributes]
    everything = ast.Constant(value=True, type=AttributeType.BOOL)
    return [
        _applier(table, Change.ROW, all_names, ast.UpdateOrInsert(name, same, at=at)),
        _applier(table, Change.GONE, table.key, ast.DeleteFrom(name, same, at=at)),
        _applier(table, Change.ALL_GONE, table.key, ast.DeleteFrom(name, everything, at=at)),
    ]


def _applier(
    table: ExternalTable,
    change: Change,
    names: list[str] | tuple[str, ...],
    action: ast.UpdateOrInsert | ast.DeleteFrom,
) -> ast.Query:
    at = table.definition.at
    is_it = ast.Compare(
        ast.CompareOperator.EQUAL,
        ast.Variable(CHANGE, at=at),
        ast.Constant(int(change), AttributeType.INT),
    )
    shown = tuple(ast.OutputAttribute(ast.Variable(each, at=at)) for each in names)
    called = ast.Element("name", f"{table.name}__{change.name.lower()}")
    return ast.Query(
        ast.StreamInput(table.changes, (ast.Filter(is_it),), at=at),
        ast.Selector(shown),
        action,
        annotations=(ast.Annotation("info", (called,)),),
        at=at,
    )


def _check_unwritten(tree: ast.App, copied: set[str]) -> None:
    for node in below(tree.execution):
        if isinstance(node, ast.InsertInto | ast.DeleteFrom | ast.UpdateTable | ast.UpdateOrInsert):
            refuse_write(node.target, node.at, copied)


def refuse_write(target: str, at: ast.Location, copied: set[str] | frozenset[str]) -> None:
    """A table that is read from a database is written there alone."""
    if target in copied:
        raise positioned(
            at,
            f"the table {target!r} is read from a database: what the app writes would not be there",
            "write to the database with a @sink(type='rdbms'), or use mode='own'",
        )
