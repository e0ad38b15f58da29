"""Definitions (grammar 4, 6): one name space, windows, triggers, functions, table keys."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.aggregations import check_aggregation
from lockstep.siddhiql.checking.annotations import single
from lockstep.siddhiql.checking.archiving import ARCHIVE, check_archive
from lockstep.siddhiql.checking.caches import check_cache
from lockstep.siddhiql.checking.connectors import check_connector, require_type
from lockstep.siddhiql.checking.stream_annotations import check_stream_annotations, has_fault_stream
from lockstep.siddhiql.checking.streams import check_window, stream_scope
from lockstep.siddhiql.checking.symbols import (
    ERROR_ATTRIBUTE,
    TRIGGER_ATTRIBUTES,
    Symbols,
    schema_of,
)
from lockstep.siddhiql.cron import check_cron
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import positioned

_SHARED = (ast.StreamDefinition, ast.WindowDefinition, ast.TriggerDefinition)
"""Kinds that may coincide when they are identical (grammar 4)."""

_LANGUAGES = ("python", "javascript")


def check_definitions(definitions: tuple[ast.Definition, ...], symbols: Symbols) -> None:
    """Fills the symbols; windows and aggregations are checked once all streams are known."""
    named: dict[str, ast.Definition] = {}
    for definition in definitions:
        if isinstance(definition, ast.FunctionDefinition):
            _function(definition, symbols)
        else:
            _claim(definition, named)
            _declare(definition, symbols)
    for name, window in list(symbols.windows.items()):
        scope = stream_scope(symbols, symbols.schemas[name], name)
        call = check_window(window.window, scope, symbols)
        symbols.windows[name] = replace(window, window=call)
    for definition in definitions:
        if isinstance(definition, ast.AggregationDefinition):
            _check_store(definition)
            checked = check_aggregation(definition, symbols)
            symbols.aggregations[definition.name] = checked
            symbols.schemas[definition.name] = checked.schema


def _attributes(definition: ast.Definition) -> object:
    """What must be equal for two definitions to coincide."""
    if isinstance(definition, ast.TriggerDefinition):
        return TRIGGER_ATTRIBUTES
    if isinstance(definition, (ast.StreamDefinition, ast.TableDefinition, ast.WindowDefinition)):
        return schema_of(definition.name, definition.attributes).attributes
    return definition


def _claim(definition: ast.Definition, named: dict[str, ast.Definition]) -> None:
    before = named.setdefault(definition.name, definition)
    if before is definition:
        return
    alike = type(before) is type(definition) or (
        isinstance(before, _SHARED) and isinstance(definition, _SHARED)
    )
    if alike and _attributes(before) == _attributes(definition):
        return
    raise positioned(
        definition.at,
        f"{definition.name!r} is already defined in line {before.at.line}",
        "streams, tables, windows, triggers and aggregations share one name space: rename one",
    )


def _declare(definition: ast.Definition, symbols: Symbols) -> None:
    name = definition.name
    match definition:
        case ast.StreamDefinition():
            schema = schema_of(name, definition.attributes)
            symbols.streams[name] = symbols.schemas[name] = schema
            check_stream_annotations(definition, schema)
            if has_fault_stream(definition):
                _fault(schema, symbols, definition.at)
        case ast.TableDefinition():
            schema = schema_of(name, definition.attributes)
            _check_keys(definition, schema)
            symbols.tables[name] = definition
            symbols.table_schemas[name] = symbols.schemas[name] = schema
        case ast.WindowDefinition():
            symbols.windows[name] = definition
            symbols.schemas[name] = schema_of(name, definition.attributes)
        case ast.TriggerDefinition():
            _check_trigger(definition)
            symbols.triggers[name] = definition
            symbols.schemas[name] = StreamSchema(name, TRIGGER_ATTRIBUTES)


def _fault(schema: StreamSchema, symbols: Symbols, at: ast.Location) -> None:
    if schema.index_of(ERROR_ATTRIBUTE.name) is not None:
        raise positioned(
            at, f"{schema.name!r} has an attribute '_error', which its fault stream adds", "rename"
        )
    name = f"!{schema.name}"
    fault = StreamSchema(name, (*schema.attributes, ERROR_ATTRIBUTE))
    symbols.streams[name] = symbols.schemas[name] = fault


def _function(definition: ast.FunctionDefinition, symbols: Symbols) -> None:
    before = symbols.functions.get(definition.name)
    if before is not None and before != definition:
        raise positioned(
            definition.at, f"the function {definition.name!r} is already defined", "rename one"
        )
    if definition.language.lower() not in _LANGUAGES:
        raise positioned(
            definition.at,
            f"functions cannot be written in {definition.language!r}",
            "write it in Python or JavaScript: "
            "define function f[python] return int { return data[0] + 1 }",
        )
    symbols.functions[definition.name] = definition
    symbols.function_types[definition.name] = definition.returns


def _check_trigger(definition: ast.TriggerDefinition) -> None:
    if definition.every_ms == 0:
        raise positioned(definition.at, "a trigger needs more than 0 milliseconds", "every 1 sec")
    expression = definition.expression
    if expression is None or expression.strip().lower() == "start":
        return
    problem = check_cron(expression)
    if problem is not None:
        raise positioned(
            definition.at,
            f"the trigger's expression {expression!r} {problem}",
            "write 'start' or a cron expression with seconds first: '0 0/5 * * * ?'",
        )


def _check_store(definition: ast.TableDefinition | ast.AggregationDefinition) -> bool:
    """Whether the table is kept in a store, whose annotation must be right."""
    store = single(definition.annotations, "store")
    if store is None:
        return False
    kind = require_type(store, "rdbms")
    check_cache(store)
    check_connector(ExtensionKind.STORE, store)
    if kind.lower() != "rdbms":
        _check_keyed(definition, store)
    return True


def _check_keyed(
    definition: ast.TableDefinition | ast.AggregationDefinition, store: ast.Annotation
) -> None:
    """What is no database has neither tables of buckets nor rows without a key."""
    kind = store.get("type")
    if isinstance(definition, ast.AggregationDefinition):
        raise positioned(
            store.at, f"an aggregation is not kept in a store {kind!r}", "type='rdbms'"
        )
    if single(definition.annotations, "primarykey") is None:
        raise positioned(
            store.at,
            f"a table in a store {kind!r} needs a primary key: its rows are found by it",
            "name the attributes that tell its rows apart: @PrimaryKey('id')",
        )


def _check_keys(definition: ast.TableDefinition, schema: StreamSchema) -> None:
    key = single(definition.annotations, "primarykey")
    keys = [] if key is None else [key]
    indexes = [a for a in definition.annotations if a.name.lower() == "index"]
    by = single(definition.annotations, "indexby")
    if by is not None:
        raise positioned(by.at, "@IndexBy is not supported", "use @PrimaryKey or @Index")
    stored = _check_store(definition)
    archived = single(definition.annotations, ARCHIVE)
    if archived is not None:
        check_archive(archived)
    for annotation in keys + indexes:
        names = tuple(element.value for element in annotation.elements)
        if not names:
            raise positioned(annotation.at, f"@{annotation.name} names no attribute", "('a')")
        for name in names:
            if schema.index_of(name) is None:
                raise positioned(
                    annotation.at,
                    f"@{annotation.name}: {definition.name!r} has no attribute {name!r}",
                    did_you_mean(name, schema.names),
                )
    seen: set[str] = set()
    for annotation in indexes:
        if len(annotation.elements) > 1 and not stored:
            raise positioned(
                annotation.at,
                "@Index takes one attribute",
                "write one @Index per attribute: @Index('a') @Index('b')",
            )
        for element in annotation.elements:
            if element.value in seen:
                raise positioned(annotation.at, f"two indexes on {element.value!r}", "remove one")
            seen.add(element.value)
